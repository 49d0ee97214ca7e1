// Compiles minimum, maximum, multipleOf and the ranges of number formats of a schema.
import { ExactNumber } from '@kapstan/api';
import { type FieldError, invalidField } from '@kapstan/api/errors';
import type { JsonSchema } from './structural-schema.ts';
import type { ValueValidator } from './value-validator.ts';

const integerRanges: ReadonlyMap<string, readonly [bigint, bigint]> = new Map([
  ['int32', [-2_147_483_648n, 2_147_483_647n]],
  ['int64', [-9_223_372_036_854_775_808n, 9_223_372_036_854_775_807n]],
  ['uint32', [0n, 4_294_967_295n]],
  ['uint64', [0n, 18_446_744_073_709_551_615n]],
]);

const maxIntegerLength = 400;

/** `shown`: the value as received, for errors. */
type NumberCheck = (value: number, path: string, shown: unknown) => readonly FieldError[];

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
  /** Returns the fault of a value; `bound` is the limit in the value's type. */
  fault(value: number, bound: number, path: string): string | undefined;
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
    const bound = isWhole ? Math.trunc(limit.bound) : limit.bound;
    if (limit.what === 'MultipleOf' && bound <= 0) {
      const text = `factor MultipleOf declared for ${path} must be positive: ${bound}`;
      return [...ofLimit, invalidField(path, bound, text)];
    }
    const fault = limit.fault(value, bound, path);
    return fault === undefined ? ofLimit : [...ofLimit, invalidField(path, shown, fault)];
  };
}

/** True for a number that Go reads as int64. */
function isGoInteger(value: number, shown: unknown): boolean {
  if (shown instanceof ExactNumber && !/^-?\d+$/.test(shown.text)) return false;
  return Number.isInteger(value) && Math.abs(value) < 2 ** 63;
}

function multipleOfLimit(multipleOf: number): Limit {
  return {
    bound: multipleOf,
    what: 'MultipleOf',
    fault: (value, factor, path) =>
      isMultiple(value, factor) ? undefined : `${path} in body should be a multiple of ${factor}`,
  };
}

function isMultiple(value: number, factor: number): boolean {
  if (Number.isInteger(value) && Number.isInteger(factor)) return value % factor === 0;
  const quotient = value / factor;
  // Go takes no quotient beyond 2^53 for a whole one. Source: swag.IsFloat64AJSONInteger.
  if (Math.abs(quotient) > Number.MAX_SAFE_INTEGER) return false;
  // 0.3 is a multiple of 0.1, although 0.3 / 0.1 is not 3 in doubles.
  return Math.abs(quotient - Math.round(quotient)) < 1e-9 * Math.max(1, Math.abs(quotient));
}

function maximumLimit(maximum: number, isExclusive: boolean): Limit {
  const words = isExclusive ? 'less than' : 'less than or equal to';
  return {
    bound: maximum,
    what: 'Maximum boundary',
    fault: (value, bound, path) =>
      value < bound || (!isExclusive && value === bound) ? undefined : `${path} in body should be ${words} ${bound}`,
  };
}

function minimumLimit(minimum: number, isExclusive: boolean): Limit {
  const words = isExclusive ? 'greater than' : 'greater than or equal to';
  return {
    bound: minimum,
    what: 'Minimum boundary',
    fault: (value, bound, path) =>
      value > bound || (!isExclusive && value === bound) ? undefined : `${path} in body should be ${words} ${bound}`,
  };
}
