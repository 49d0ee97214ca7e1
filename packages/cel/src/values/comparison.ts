// Orders two values for `<`, `max` and similar functions. Numbers of different types compare by value.
import type { CelDuration } from './duration.ts';
import { CelFailure, overloadFailure } from './failure.ts';
import type { Int } from './integers.ts';
import { type CelUint, numberOfDouble } from './numbers.ts';
import type { CelTimestamp } from './timestamp.ts';
import { kindOf } from './value.ts';

const nanOrder = new CelFailure('NaN values cannot be ordered');

/** Returns -1, 0 or 1, or the error for values without an order. */
export function compareValues(left: unknown, right: unknown): number | CelFailure {
  if (typeof left === 'string' && typeof right === 'string') return compareStrings(left, right);
  const kind = kindOf(left);
  if (isNumberKind(kind)) return isNumberKind(kindOf(right)) ? compareNumbers(left, right) : overloadFailure(right);
  if (kind !== kindOf(right)) return overloadFailure(right);
  switch (kind) {
    case 'bool':
      return order(Number(left), Number(right));
    case 'bytes':
      return compareBytes(left as Uint8Array, right as Uint8Array);
    case 'duration':
      return order((left as CelDuration).nanos, (right as CelDuration).nanos);
    case 'timestamp':
      return order((left as CelTimestamp).totalNanos, (right as CelTimestamp).totalNanos);
    default:
      return overloadFailure(right);
  }
}

/** True when values of this kind have an order. */
export function isComparable(value: unknown): boolean {
  const kind = kindOf(value);
  return isNumberKind(kind) || ['bool', 'bytes', 'duration', 'string', 'timestamp'].includes(kind);
}

export function isNumberKind(kind: string): boolean {
  return kind === 'int' || kind === 'uint' || kind === 'double';
}

function order<T extends number | bigint>(left: T, right: T): number {
  if (left < right) return -1;
  return left > right ? 1 : 0;
}

/** Orders by UTF-8 bytes, which is the order of code points. */
function compareStrings(left: string, right: string): number {
  if (left === right) return 0;
  const length = Math.min(left.length, right.length);
  for (let i = 0; i < length; i++) {
    const a = left.charCodeAt(i);
    const b = right.charCodeAt(i);
    if (a === b) continue;
    // Surrogates represent code points above all others, although their units are smaller than some.
    const isSurrogateA = a >= 0xd800 && a <= 0xdfff;
    const isSurrogateB = b >= 0xd800 && b <= 0xdfff;
    if (isSurrogateA !== isSurrogateB) return isSurrogateA ? 1 : -1;
    return a < b ? -1 : 1;
  }
  return order(left.length, right.length);
}

function compareBytes(left: Uint8Array, right: Uint8Array): number {
  const length = Math.min(left.length, right.length);
  for (let i = 0; i < length; i++) {
    if (left[i] !== right[i]) return (left[i] as number) < (right[i] as number) ? -1 : 1;
  }
  return order(left.length, right.length);
}

/** Orders two numbers. Compared with a double, integers beyond 2^53 lose their last digits, as in Go. */
export function compareNumbers(left: unknown, right: unknown): number | CelFailure {
  const leftKind = kindOf(left);
  const rightKind = kindOf(right);
  if (leftKind !== 'double' && rightKind !== 'double') return order(integerOf(left), integerOf(right));
  const a = leftKind === 'double' ? numberOfDouble(left) : Number(integerOf(left));
  const b = rightKind === 'double' ? numberOfDouble(right) : Number(integerOf(right));
  return Number.isNaN(a) || Number.isNaN(b) ? nanOrder : order(a, b);
}

function integerOf(value: unknown): bigint {
  return kindOf(value) === 'uint' ? (value as CelUint).value : BigInt(value as Int);
}
