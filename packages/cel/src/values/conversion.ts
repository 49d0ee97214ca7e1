// Conversions such as int(x), string(x), timestamp(x), and the errors of values that cannot be converted.
import { readDecimal } from '@kapstan/api/internal';
import type { CelType } from '../types/cel-type.ts';
import {
  boolType,
  bytesType,
  doubleType,
  durationType,
  intType,
  stringType,
  timestampType,
  uintType,
} from '../types/cel-type.ts';
import { intOverflow, timestampOverflow, uintOverflow } from './arithmetic.ts';
import type { CelObject } from './cel-object.ts';
import { type CelDuration, parseGoDuration } from './duration.ts';
import { CelFailure } from './failure.ts';
import { formatDoubleG } from './go-number.ts';
import { type Int, int64Range, intOf, uint64Range } from './integers.ts';
import { CelUint, numberOfDouble } from './numbers.ts';
import { CelTimestamp, isInRange, parseTimestamp } from './timestamp.ts';
import { doubleValue, kindOf, typeOfValue } from './value.ts';

const invalidUtf8 = new CelFailure('invalid UTF-8 in bytes, cannot convert to string');
const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Converts the value to another type, or returns the error. */
export function convertValue(value: unknown, to: CelType): unknown {
  const converted = conversions.get(to)?.(value);
  return converted ?? new CelFailure(`type conversion error from '${typeOfValue(value)}' to '${to}'`);
}

/** Returns undefined when values of that kind, or this value, cannot be converted. */
type Conversion = (value: unknown) => unknown;

const toBool: Conversion = (value) => {
  if (typeof value === 'boolean') return value;
  if (typeof value !== 'string') return undefined;
  if (['1', 't', 'T', 'true', 'TRUE', 'True'].includes(value)) return true;
  return ['0', 'f', 'F', 'false', 'FALSE', 'False'].includes(value) ? false : undefined;
};

const toBytes: Conversion = (value) => {
  if (value instanceof Uint8Array) return value;
  return typeof value === 'string' ? encoder.encode(value) : undefined;
};

const toDouble: Conversion = (value) => {
  switch (kindOf(value)) {
    case 'double':
      return value;
    case 'int':
      return doubleValue(Number(value));
    case 'uint':
      return doubleValue(Number((value as CelUint).value));
    case 'string':
      return parseDouble(value as string);
    default:
      return undefined;
  }
};

const toInt: Conversion = (value) => {
  switch (kindOf(value)) {
    case 'int':
      return value;
    case 'uint': {
      const { value: whole } = value as CelUint;
      return int64Range.has(whole) ? intOf(whole) : intOverflow;
    }
    case 'double':
      return doubleToInt(numberOfDouble(value));
    case 'string': {
      const whole = parseDecimal(value as string, /^[+-]?\d+$/);
      return whole !== undefined && int64Range.has(whole) ? intOf(whole) : undefined;
    }
    case 'duration':
      return intOf((value as CelDuration).nanos);
    case 'timestamp':
      return (value as CelTimestamp).seconds;
    default:
      return undefined;
  }
};

const toUint: Conversion = (value) => {
  switch (kindOf(value)) {
    case 'uint':
      return value;
    case 'int': {
      const whole = BigInt(value as Int);
      return whole >= 0n ? new CelUint(whole) : uintOverflow;
    }
    case 'double':
      return doubleToUint(numberOfDouble(value));
    case 'string': {
      const whole = parseDecimal(value as string, /^\d+$/);
      return whole !== undefined && uint64Range.has(whole) ? new CelUint(whole) : undefined;
    }
    default:
      return undefined;
  }
};

const toText: Conversion = (value) => {
  switch (kindOf(value)) {
    case 'string':
      return value;
    case 'bool':
    case 'int':
    case 'duration':
    case 'timestamp':
      return String(value);
    case 'uint':
      return String((value as CelUint).value);
    case 'double':
      return formatDoubleG(numberOfDouble(value));
    case 'bytes':
      return decodeUtf8(value as Uint8Array);
    case 'null':
      return 'null';
    case 'type':
      return (value as CelType).name;
    case 'object':
      return (value as CelObject).asString();
    default:
      return undefined;
  }
};

const toDuration: Conversion = (value) => {
  if (kindOf(value) === 'duration') return value;
  return typeof value === 'string' ? parseGoDuration(value) : undefined;
};

const toTimestamp: Conversion = (value) => {
  switch (kindOf(value)) {
    case 'timestamp':
      return value;
    case 'int':
      return isInRange(Number(value)) ? new CelTimestamp(Number(value)) : timestampOverflow;
    case 'string': {
      const parsed = parseTimestamp(value as string);
      return parsed === 'overflow' ? timestampOverflow : parsed;
    }
    default:
      return undefined;
  }
};

const conversions: ReadonlyMap<CelType, Conversion> = new Map([
  [boolType, toBool],
  [bytesType, toBytes],
  [doubleType, toDouble],
  [durationType, toDuration],
  [intType, toInt],
  [stringType, toText],
  [timestampType, toTimestamp],
  [uintType, toUint],
]);

function parseDecimal(text: string, form: RegExp): bigint | undefined {
  return form.test(text) ? readDecimal(text) : undefined;
}

function doubleToInt(value: number): unknown {
  return value > -(2 ** 63) && value < 2 ** 63 ? intOf(BigInt(Math.trunc(value))) : intOverflow;
}

function doubleToUint(value: number): unknown {
  return value >= 0 && value < 2 ** 64 ? new CelUint(BigInt(Math.trunc(value))) : uintOverflow;
}

const decimalForm = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;
const hexForm = /^([+-]?)0[xX]([0-9a-fA-F]*)(?:\.([0-9a-fA-F]*))?[pP]([+-]?\d+)$/;
/** Matches underscores, which may be between two digits and after 0x. */
const separators = /(?<=[0-9a-fA-F]|0[xX])_(?=[0-9a-fA-F])/g;

/**
 * Parses like Go's strconv.ParseFloat: decimal, hexadecimal with an exponent, infinities and NaN; undefined when it
 * does not fit.
 */
function parseDouble(text: string): unknown {
  const special = /^([+-]?)(?:inf|infinity)$/i.exec(text);
  if (special !== null) return special[1] === '-' ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
  if (/^nan$/i.test(text)) return Number.NaN;
  const digits = text.replace(separators, '');
  const hex = hexForm.exec(digits);
  const value = hex === null ? parseDecimalDouble(digits) : parseHexDouble(hex);
  return value !== undefined && Number.isFinite(value) ? doubleValue(value) : undefined;
}

function parseDecimalDouble(text: string): number | undefined {
  return decimalForm.test(text) ? Number(text) : undefined;
}

function parseHexDouble([, sign = '', whole = '', fraction = '', exponent = '0']: RegExpExecArray): number | undefined {
  const digits = whole + fraction;
  if (digits === '' || digits.length > 256) return undefined;
  const value = Number(BigInt(`0x${digits}`)) * 2 ** (Number(exponent) - 4 * fraction.length);
  return sign === '-' ? -value : value;
}

function decodeUtf8(bytes: Uint8Array): unknown {
  try {
    return decoder.decode(bytes);
  } catch (error) {
    if (error instanceof TypeError) return invalidUtf8;
    throw error;
  }
}
