// Computes + - * / % and unary minus by the types of values at run time.
import { type AnyList, isList, joinLists } from './cel-list.ts';
import { CelDuration } from './duration.ts';
import { CelFailure, noSuchOverload, overloadFailure } from './failure.ts';
import { type Int, int64Range, intOf, uint64Range } from './integers.ts';
import { CelUint, numberOfDouble } from './numbers.ts';
import { CelTimestamp } from './timestamp.ts';
import { doubleValue, kindOf } from './value.ts';

export const intOverflow: CelFailure = new CelFailure('integer overflow');
export const uintOverflow: CelFailure = new CelFailure('unsigned integer overflow');
export const timestampOverflow: CelFailure = new CelFailure('timestamp overflow');
const divisionByZero = new CelFailure('division by zero');
const modulusByZero = new CelFailure('modulus by zero');

/** Longest text or byte sequence that + makes, in bytes or UTF-16 units: far more than a request can have. */
const maxJoinedSize = 1 << 28;
const tooLarge = new CelFailure(`values longer than ${maxJoinedSize} are not supported`);

type Operator = '+' | '-' | '*' | '/' | '%';

/** Kinds whose values have methods in Go. For these, the error of a missing operator omits its name. */
const receivers: ReadonlySet<string> = new Set(['string', 'timestamp', 'duration']);

const operands: Record<Operator, ReadonlySet<string>> = {
  '+': new Set(['bytes', 'double', 'duration', 'int', 'list', 'string', 'timestamp', 'uint']),
  '-': new Set(['double', 'duration', 'int', 'timestamp', 'uint']),
  '*': new Set(['double', 'int', 'uint']),
  '/': new Set(['double', 'int', 'uint']),
  '%': new Set(['int', 'uint']),
};

/** Returns the result of an operator, or the error. The operands must not be errors. */
export function calculate(operator: Operator, left: unknown, right: unknown): unknown {
  const kind = kindOf(left);
  if (!operands[operator].has(kind)) return missingOperator(kind, `_${operator}_`);
  switch (kind) {
    case 'int':
      return kindOf(right) === 'int' ? calculateInts(operator, left as Int, right as Int) : overloadFailure(right);
    case 'uint':
      return right instanceof CelUint
        ? calculateUints(operator, (left as CelUint).value, right.value)
        : overloadFailure(right);
    case 'double':
      return kindOf(right) === 'double'
        ? calculateDoubles(operator, numberOfDouble(left), numberOfDouble(right))
        : overloadFailure(right);
    case 'duration':
    case 'timestamp':
      return calculateTimes(operator, left as CelDuration | CelTimestamp, right);
    default:
      return joined(left, right);
  }
}

/** Returns the error of an operand whose type lacks an operator. */
export function missingOperator(kind: string, name: string): CelFailure {
  return receivers.has(kind) ? noSuchOverload : new CelFailure(`no such overload: ${name}`);
}

/** Computes the unary minus. */
export function negate(value: unknown): unknown {
  switch (kindOf(value)) {
    case 'int':
      return checkedInt(-BigInt(value as Int));
    case 'double':
      return doubleValue(-numberOfDouble(value));
    case 'duration':
      return checkedDuration(-(value as CelDuration).nanos);
    case 'bool':
      return noSuchOverload;
    default:
      return missingOperator(kindOf(value), '-_');
  }
}

function joined(left: unknown, right: unknown): unknown {
  if (typeof left === 'string') {
    if (typeof right !== 'string') return overloadFailure(right);
    return left.length + right.length > maxJoinedSize ? tooLarge : left + right;
  }
  if (left instanceof Uint8Array) return right instanceof Uint8Array ? joinBytes(left, right) : overloadFailure(right);
  return isList(right) ? joinLists(left as AnyList, right) : overloadFailure(right);
}

function joinBytes(left: Uint8Array, right: Uint8Array): unknown {
  if (left.length + right.length > maxJoinedSize) return tooLarge;
  const bytes = new Uint8Array(left.length + right.length);
  bytes.set(left);
  bytes.set(right, left.length);
  return bytes;
}

function checkedInt(value: bigint): Int | CelFailure {
  return int64Range.has(value) ? intOf(value) : intOverflow;
}

function checkedUint(value: bigint): CelUint | CelFailure {
  return uint64Range.has(value) ? new CelUint(value) : uintOverflow;
}

function checkedDuration(nanos: bigint): CelDuration | CelFailure {
  return int64Range.has(nanos) ? new CelDuration(nanos) : intOverflow;
}

function calculateInts(operator: Operator, left: Int, right: Int): unknown {
  const result = exact(operator, BigInt(left), BigInt(right));
  if (result === undefined) return operator === '%' ? modulusByZero : divisionByZero;
  // As for the quotient, Go's remainder of the smallest int and -1 overflows.
  if (operator === '%' && BigInt(right) === -1n && !int64Range.has(-BigInt(left))) return intOverflow;
  return checkedInt(result);
}

function calculateUints(operator: Operator, left: bigint, right: bigint): unknown {
  const result = exact(operator, left, right);
  if (result === undefined) return operator === '%' ? modulusByZero : divisionByZero;
  return checkedUint(result);
}

/** Returns undefined for a division by zero. */
function exact(operator: Operator, left: bigint, right: bigint): bigint | undefined {
  switch (operator) {
    case '+':
      return left + right;
    case '-':
      return left - right;
    case '*':
      return left * right;
    case '/':
      return right === 0n ? undefined : left / right;
    case '%':
      return right === 0n ? undefined : left % right;
  }
}

function calculateDoubles(operator: Operator, left: number, right: number): unknown {
  switch (operator) {
    case '+':
      return doubleValue(left + right);
    case '-':
      return doubleValue(left - right);
    case '*':
      return doubleValue(left * right);
    default:
      return doubleValue(left / right);
  }
}

function calculateTimes(operator: Operator, left: CelDuration | CelTimestamp, right: unknown): unknown {
  const sign = operator === '+' ? 1n : -1n;
  if (left instanceof CelDuration) {
    if (right instanceof CelDuration) return checkedDuration(left.nanos + sign * right.nanos);
    if (right instanceof CelTimestamp && operator === '+') return right.plus(left.nanos) ?? timestampOverflow;
    return overloadFailure(right);
  }
  if (right instanceof CelDuration) return shifted(left, sign * right.nanos);
  if (right instanceof CelTimestamp && operator === '-') return checkedDuration(left.totalNanos - right.totalNanos);
  return overloadFailure(right);
}

/** Go negates a duration before subtracting it, and the smallest one has no negation. */
function shifted(timestamp: CelTimestamp, nanos: bigint): unknown {
  return int64Range.has(nanos) ? (timestamp.plus(nanos) ?? timestampOverflow) : intOverflow;
}
