// Compiles minimum, maximum, multipleOf and the ranges of number formats of a schema.
import { ExactNumber } from '@kapstan/api';
import { type FieldError, invalidField } from '@kapstan/api/errors';
import { parseInt64 } from '@kapstan/api/internal';
import type { JsonSchema } from './structural-schema.ts';
import type { ValueValidator } from './value-validator.ts';

const integerRanges: ReadonlyMap<string, readonly [bigint, bigint]> = new Map([
  ['int32', [-2_147_483_648n, 2_147_483_647n]],
  ['int64', [-9_223_372_036_854_775_808n, 9_223_372_036_854_775_807n]],
]);

const maxIntegerLength = 400;

/** `shown`: the value as received, for errors. */
type NumberCheck = (value: number, path: string, shown: number | ExactNumber) => readonly FieldError[];

type RangeCheck = (value: number | ExactNumber, path: string, what: string) => readonly FieldError[];

export function numberChecks(schema: JsonSchema): readonly ValueValidator[] {
  const isInRange = rangeCheck(schema);
  const checks = limitsOf(schema).map((limit) => limitCheck(limit, isInRange));
  return [
    (value, path) => {
      if (typeof value !== 'number' && !(value instanceof ExactNumber)) return [];
      const number = Number(value);
      return [isInRange(value, path, 'Checked'), ...checks.map((check) => check(number, path, value))].flat();
    },
  ];
}

/**
 * As in Kubernetes, the error names no field, but its text contains the path. `what` is the value itself or one of the
 * schema's limits, which must be of its type, too. Source: validate.IsValueValidAgainstRange and NumberValidator.
 */
function rangeCheck(schema: JsonSchema): RangeCheck {
  if (schema.type === 'integer') return integerCheck(schema);
  return schema.type === 'number' ? floatCheck(schema) : () => [];
}

function integerCheck({ format }: JsonSchema): RangeCheck {
  const range = integerRanges.get(typeof format === 'string' ? format : '');
  const kind = range === undefined ? '(default format)' : `with format ${format}`;
  return (value, path, what) => {
    const text = String(value);
    const isInteger = value instanceof ExactNumber ? /^-?\d+$/.test(text) : Number.isInteger(value);
    // No format has numbers with more digits, and reading millions of them would take seconds.
    if (isInteger && text.length <= maxIntegerLength) {
      const integer = BigInt(text.includes('e') ? Number(value) : text);
      const [low, high] = range ?? [-(2n ** 63n), 2n ** 63n - 1n];
      if (integer >= low && integer <= high) return [];
    }
    return [invalidField('<nil>', '', `${what} value must be of type integer ${kind} in ${path}`)];
  };
}

function floatCheck({ format }: JsonSchema): RangeCheck {
  if (format !== 'float' && format !== 'float32') return () => [];
  return (value, path, what) => {
    if (Number.isFinite(Math.fround(Number(value)))) return [];
    return [invalidField('<nil>', '', `${what} value must be of type number with format ${format} in ${path}`)];
  };
}

/** One limit of a schema. */
interface Limit {
  readonly bound: number;
  /** Name of the limit in an error. */
  readonly what: string;
  /** Returns false where the value violates the limit. Both are bigint, or both are number. */
  holds(value: number | bigint, bound: number | bigint): boolean;
  readonly words: string;
}

function limitsOf(schema: JsonSchema): readonly Limit[] {
  const { multipleOf, minimum, maximum } = schema;
  return [
    ...(typeof multipleOf === 'number' ? [multipleOfLimit(multipleOf)] : []),
    ...(typeof minimum === 'number' ? [minimumLimit(minimum, schema.exclusiveMinimum === true)] : []),
    ...(typeof maximum === 'number' ? [maximumLimit(maximum, schema.exclusiveMaximum === true)] : []),
  ];
}

/** Go compares an integer with the integer part of a limit, unless the limit is not of the schema's type. */
function limitCheck(limit: Limit, isInRange: RangeCheck): NumberCheck {
  return (value, path, shown) => {
    const ofLimit = isInRange(limit.bound, path, limit.what);
    const isWhole = ofLimit.length === 0 && isGoInteger(value, shown);
    const bound = isWhole ? BigInt(Math.trunc(limit.bound)) : limit.bound;
    if (limit.what === 'MultipleOf' && bound <= 0) {
      const shownBound = Number(bound);
      const text = `factor MultipleOf declared for ${path} must be positive: ${shownBound}`;
      return [...ofLimit, invalidField(path, shownBound, text)];
    }
    const exact = isWhole ? BigInt(shown instanceof ExactNumber ? shown.text : shown) : value;
    if (limit.holds(exact, bound)) return ofLimit;
    return [...ofLimit, invalidField(path, shown, `${path} in body should be ${limit.words} ${bound}`)];
  };
}

/** True for a number that Go reads as int64. */
function isGoInteger(value: number, shown: number | ExactNumber): boolean {
  if (!(shown instanceof ExactNumber)) return Number.isInteger(value) && Math.abs(value) < 2 ** 63;
  return parseInt64(shown.text) !== undefined;
}

function multipleOfLimit(multipleOf: number): Limit {
  return {
    bound: multipleOf,
    what: 'MultipleOf',
    words: 'a multiple of',
    holds: (value, factor) =>
      typeof value === 'bigint' && typeof factor === 'bigint'
        ? value % factor === 0n
        : isWholeQuotient(Number(value), Number(factor)),
  };
}

/** Source: go-openapi validate.MultipleOf. */
function isWholeQuotient(value: number, factor: number): boolean {
  return isWholeInGo(factor < 1 ? (1 / factor) * value : value / factor);
}

const epsilon = 1e-9;

/**
 * Allows for the error of one division: 0.3 is a multiple of 0.1. It compares with the integer part, so 19.99 is no multiple of 0.01, whose
 * quotient is a little below 1999. Source: swag.IsFloat64AJSONInteger.
 */
function isWholeInGo(quotient: number): boolean {
  if (!(Math.abs(quotient) <= Number.MAX_SAFE_INTEGER)) return false;
  if (Number.isInteger(quotient)) return true;
  if (quotient < 0) return false;
  const whole = Math.trunc(quotient);
  return whole > 0 && (quotient - whole) / (quotient + whole) < epsilon;
}

function maximumLimit(maximum: number, isExclusive: boolean): Limit {
  return {
    bound: maximum,
    what: 'Maximum boundary',
    words: isExclusive ? 'less than' : 'less than or equal to',
    holds: (value, bound) => value < bound || (!isExclusive && value === bound),
  };
}

function minimumLimit(minimum: number, isExclusive: boolean): Limit {
  return {
    bound: minimum,
    what: 'Minimum boundary',
    words: isExclusive ? 'greater than' : 'greater than or equal to',
    holds: (value, bound) => value > bound || (!isExclusive && value === bound),
  };
}
