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

/** `shown`: the value as it was sent, for errors. */
type NumberCheck = (value: number, path: string, shown: unknown) => FieldError | undefined;

export function numberChecks(schema: JsonSchema): readonly ValueValidator[] {
  const checks: NumberCheck[] = [...multipleOfCheck(schema), ...maximumCheck(schema), ...minimumCheck(schema)];
  const checkFormat = formatCheck(schema);
  return [
    (value, path) => {
      if (typeof value !== 'number' && !(value instanceof ExactNumber)) return [];
      const number = Number(value);
      return [checkFormat(value, path), ...checks.map((check) => check(number, path, value))].filter(
        (error) => error !== undefined,
      );
    },
  ];
}

/**
 * As in Kubernetes, the error names no field, but its text says the place. Source: validate.IsValueValidAgainstRange
 * and NumberValidator.
 */
function formatCheck(schema: JsonSchema): (value: number | ExactNumber, path: string) => FieldError | undefined {
  if (schema.type === 'number') return floatCheck(schema);
  if (schema.type !== 'integer') return () => undefined;
  const range = integerRanges.get(typeof schema.format === 'string' ? schema.format : '');
  const kind = range === undefined ? '(default format)' : `with format ${schema.format}`;
  return (value, path) => {
    const text = String(value);
    const isInteger = value instanceof ExactNumber ? /^-?\d+$/.test(text) : Number.isInteger(value);
    // No format has numbers with as many digits, and reading millions of them would take seconds.
    if (isInteger && text.length <= maxIntegerLength) {
      const integer = BigInt(text.includes('e') ? Number(value) : text);
      const [low, high] = range ?? [-(2n ** 63n), 2n ** 63n - 1n];
      if (integer >= low && integer <= high) return undefined;
    }
    return invalidField('<nil>', '', `Checked value must be of type integer ${kind} in ${path}`);
  };
}

function floatCheck({ format }: JsonSchema): (value: number | ExactNumber, path: string) => FieldError | undefined {
  if (format !== 'float' && format !== 'float32') return () => undefined;
  return (value, path) => {
    if (Number.isFinite(Math.fround(Number(value)))) return undefined;
    return invalidField('<nil>', '', `Checked value must be of type number with format ${format} in ${path}`);
  };
}

function isInt64(value: number): boolean {
  return Number.isInteger(value) && Math.abs(value) < 2 ** 63;
}

function multipleOfCheck({ multipleOf }: JsonSchema): readonly NumberCheck[] {
  if (typeof multipleOf !== 'number') return [];
  return [
    (value, path, shown) => {
      // Go divides integers by integers.
      const factor = isInt64(value) ? Math.trunc(multipleOf) : multipleOf;
      if (factor <= 0)
        return invalidField(path, factor, `factor MultipleOf declared for ${path} must be positive: ${factor}`);
      if (isInt64(value)) {
        return value % factor === 0
          ? undefined
          : invalidField(path, shown, `${path} in body should be a multiple of ${factor}`);
      }
      const quotient = value / multipleOf;
      // 0.3 is a multiple of 0.1, although 0.3 / 0.1 is not 3 in doubles.
      if (Math.abs(quotient - Math.round(quotient)) < 1e-9 * Math.max(1, Math.abs(quotient))) return undefined;
      return invalidField(path, shown, `${path} in body should be a multiple of ${multipleOf}`);
    },
  ];
}

function maximumCheck({ maximum, exclusiveMaximum }: JsonSchema): readonly NumberCheck[] {
  if (typeof maximum !== 'number') return [];
  const isExclusive = exclusiveMaximum === true;
  const words = isExclusive ? 'less than' : 'less than or equal to';
  return [
    (value, path, shown) => {
      if (value < maximum || (!isExclusive && value === maximum)) return undefined;
      return invalidField(path, shown, `${path} in body should be ${words} ${maximum}`);
    },
  ];
}

function minimumCheck({ minimum, exclusiveMinimum }: JsonSchema): readonly NumberCheck[] {
  if (typeof minimum !== 'number') return [];
  const isExclusive = exclusiveMinimum === true;
  const words = isExclusive ? 'greater than' : 'greater than or equal to';
  return [
    (value, path, shown) => {
      if (value > minimum || (!isExclusive && value === minimum)) return undefined;
      return invalidField(path, shown, `${path} in body should be ${words} ${minimum}`);
    },
  ];
}
