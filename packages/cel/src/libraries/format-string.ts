// The function `format` makes texts from values. Numbers have American separators: 1,234.50.
import { goQuote } from '@kapstan/api/internal';
import { stringType } from '../types/cel-type.ts';
import { type AnyList, listAt, listItems, listSize } from '../values/cel-list.ts';
import { type AnyMap, mapFind, mapKeys } from '../values/cel-map.ts';
import { convertValue } from '../values/conversion.ts';
import type { CelFailure } from '../values/failure.ts';
import { type FormatClause, FormatFailure, formatClauses } from '../values/format-clauses.ts';
import { notBinary, notDecimal, notFixed, notHex, notOctal, notScientific, notString } from '../values/format-texts.ts';
import { formatFixed, formatScientific } from '../values/go-number.ts';
import type { Int } from '../values/integers.ts';
import { type CelUint, numberOfDouble } from '../values/numbers.ts';
import { kindOf, typeOfValue } from '../values/value.ts';

const defaultPrecision = 6;
/** Go keeps the precision of this clause in one byte. */
const precisionSize = 256;
const encoder = new TextEncoder();

/** Returns the text with its clauses replaced by the values of the list, or the error. */
export function formatString(text: string, args: AnyList): string | CelFailure {
  return formatClauses(text, {
    argCount: listSize(args),
    checksArgFirst: true,
    format: (clause) => formatValueAs(clause, listAt(args, clause.index)),
  });
}

type Formatted = string | FormatFailure;

function formatValueAs({ verb, precision = defaultPrecision }: FormatClause, value: unknown): Formatted {
  switch (verb) {
    case 's':
      return formatAny(value);
    case 'd':
      return formatDecimal(value);
    case 'f':
      return formatDouble(value, notFixed, (double) => localFixed(double, precision % precisionSize));
    case 'e':
      return formatDouble(value, notScientific, (double) => localScientific(double).padStart(precision, ' '));
    case 'b':
      return formatBinary(value);
    case 'x':
      return formatHex(value);
    case 'X':
      return upperCase(formatHex(value));
    case 'o':
      return isIntegerKind(value) ? integerOf(value).toString(8) : failure(notOctal, value);
  }
}

function failure(text: (type: string) => string, value: unknown): FormatFailure {
  return new FormatFailure(text(typeOfValue(value).name));
}

function upperCase(text: Formatted): Formatted {
  return typeof text === 'string' ? text.toUpperCase() : text;
}

function isIntegerKind(value: unknown): boolean {
  const kind = kindOf(value);
  return kind === 'int' || kind === 'uint';
}

function integerOf(value: unknown): bigint {
  return kindOf(value) === 'uint' ? (value as CelUint).value : BigInt(value as Int);
}

function formatAny(value: unknown): Formatted {
  switch (kindOf(value)) {
    case 'list':
      return formatList(value as AnyList);
    case 'map':
      return formatMap(value as AnyMap);
    case 'null':
      return 'null';
    case 'object':
    case 'optional':
    case 'failure':
      return failure(notString, value);
    default: {
      const text = convertValue(value, stringType);
      if (typeof text === 'string') return text;
      return new FormatFailure(`could not convert argument ${goQuote((text as CelFailure).message)} to string`);
    }
  }
}

function formatDecimal(value: unknown): Formatted {
  return isIntegerKind(value) ? integerOf(value).toString() : failure(notDecimal, value);
}

function formatBinary(value: unknown): Formatted {
  if (typeof value === 'boolean') return value ? '1' : '0';
  return isIntegerKind(value) ? integerOf(value).toString(2) : failure(notBinary, value);
}

function formatHex(value: unknown): Formatted {
  if (isIntegerKind(value)) return integerOf(value).toString(16);
  const bytes = typeof value === 'string' ? encoder.encode(value) : value;
  if (!(bytes instanceof Uint8Array)) return failure(notHex, value);
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

const numberNames: ReadonlyMap<unknown, number> = new Map([
  ['NaN', Number.NaN],
  ['Infinity', Number.POSITIVE_INFINITY],
  ['-Infinity', Number.NEGATIVE_INFINITY],
]);

function formatDouble(value: unknown, text: (type: string) => string, format: (double: number) => string): Formatted {
  const named = numberNames.get(value);
  if (named === undefined && kindOf(value) !== 'double') return failure(text, value);
  return format(named ?? numberOfDouble(value));
}

/** Returns digits with groups of three before the point. */
function localFixed(value: number, precision: number): string {
  if (!Number.isFinite(value)) return localInfinity(value);
  const [whole = '', fraction] = formatFixed(value, precision).split('.');
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ',');
  return fraction === undefined ? grouped : `${grouped}.${fraction}`;
}

const superscripts = '⁰¹²³⁴⁵⁶⁷⁸⁹';

/** Six digits always follow the point, because Go takes the precision of this clause for a width. */
function localScientific(value: number): string {
  if (!Number.isFinite(value)) return localInfinity(value);
  const [mantissa = '', exponent = ''] = formatScientific(value, defaultPrecision).split('e');
  const raised = exponent
    .replace('+', '')
    .replace('-', '⁻')
    .replace(/\d/g, (digit) => superscripts.charAt(Number(digit)));
  return `${mantissa}×10${raised}`;
}

function localInfinity(value: number): string {
  if (Number.isNaN(value)) return 'NaN';
  return value > 0 ? '∞' : '-∞';
}

/** Formats an element of a list, or the value of a map's entry. */
function formatMember(value: unknown): Formatted {
  const kind = kindOf(value);
  switch (kind) {
    case 'string':
      return goQuote(value as string);
    case 'double': {
      const double = numberOfDouble(value);
      const text = formatFixed(double, defaultPrecision);
      return Number.isFinite(double) ? text : `"${text}"`;
    }
    case 'duration':
    case 'timestamp':
      return `${kind}(${goQuote(String(value))})`;
    case 'bytes': {
      const text = formatAny(value);
      return typeof text === 'string' ? `b${goQuote(text)}` : text;
    }
    case 'object':
    case 'optional':
    case 'failure':
      return new FormatFailure(`no formatting function for ${typeOfValue(value).name}`);
    default:
      return formatAny(value);
  }
}

function formatList(list: AnyList): Formatted {
  const texts: string[] = [];
  for (const item of listItems(list)) {
    const text = formatMember(item);
    if (typeof text !== 'string') return text;
    texts.push(text);
  }
  return `[${texts.join(', ')}]`;
}

function formatMap(map: AnyMap): Formatted {
  const entries: (readonly [key: string, value: string])[] = [];
  for (const key of mapKeys(map)) {
    const keyText = formatKey(key);
    if (typeof keyText !== 'string') return keyText;
    const valueText = formatMember(mapFind(map, key));
    if (typeof valueText !== 'string') return valueText;
    entries.push([keyText, valueText]);
  }
  entries.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  return `{${entries.map(([key, value]) => `${key}:${value}`).join(', ')}}`;
}

function formatKey(key: unknown): Formatted {
  if (typeof key === 'string') return goQuote(key);
  if (typeof key === 'boolean' || isIntegerKind(key)) return formatAny(key);
  return new FormatFailure(`no formatting function for map key of type ${typeOfValue(key).name}`);
}
