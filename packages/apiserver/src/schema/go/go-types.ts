// The Go types behind a schema: their names in error texts, and the types that decode themselves from JSON (quantities,
// integers or strings, raw JSON). Used by typed-decoder.ts.

import { ExactNumber, parseQuantity } from '@kapstan/api';
import { formatGoNumber, isJsonObject } from '@kapstan/api/internal';
import type { SchemaNode } from '../node/schema-node.ts';
import { isNumber, makeNumbersPlain } from './go-number.ts';
import { GoValueError } from './go-value-error.ts';

/** Returns the name in "of type …": "v1.PodSpec", "[]v1.Container", "map[string]string", "int32". */
export function goTypeName(node: SchemaNode): string {
  if (node.goType !== undefined && node.format !== 'date-time') return node.goType;
  return goKindName(node);
}

/** Returns the underlying type: "string" for "v1.RestartPolicy". */
export function goKindName(node: SchemaNode): string {
  if (node.items !== undefined) return `[]${goTypeName(node.items)}`;
  const values = node.additionalProperties;
  if (values !== undefined) return `map[string]${values === true ? 'interface {}' : goTypeName(values)}`;
  switch (node.type) {
    case 'string':
      return node.format === 'byte' ? '[]uint8' : 'string';
    case 'integer':
      return node.format === 'int32' || node.format === 'uint8' ? node.format : 'int64';
    case 'number':
      return 'float64';
    case 'boolean':
      return 'bool';
    default:
      return 'map[string]interface {}';
  }
}

/** Returns the word for a JSON value in "cannot unmarshal … into". */
export function jsonKind(value: unknown): string {
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'boolean') return 'bool';
  if (typeof value === 'number' || value instanceof ExactNumber) return 'number';
  return typeof value;
}

type CustomReader = (value: unknown) => unknown;

const customReaders: ReadonlyMap<string, CustomReader> = new Map([
  ['resource.Quantity', readQuantity],
  ['intstr.IntOrString', readIntOrString],
  ['runtime.RawExtension', (value: unknown) => value],
  ['v1.FieldsV1', (value: unknown) => value],
  ['v1.JSON', makeNumbersPlain],
]);

/** True for Go types with a custom UnmarshalJSON. */
export function isCustomType(node: SchemaNode): boolean {
  return node.intOrString === true || (node.goType !== undefined && customReaders.has(node.goType));
}

/** Decodes a value of such a type. Throws {@link GoValueError}. */
export function readCustomType(value: unknown, node: SchemaNode): unknown {
  const read = customReaders.get(node.goType ?? '') ?? readIntOrString;
  return read(value);
}

/** Numbers are read as written. Source: apimachinery resource.Quantity UnmarshalJSON. */
function readQuantity(value: unknown): unknown {
  const isScalar = typeof value === 'string' || typeof value === 'number' || value instanceof ExactNumber;
  const text = isScalar ? String(value).trim() : '';
  try {
    parseQuantity(text);
    return text;
  } catch (error) {
    throw error instanceof TypeError ? new GoValueError(error.message) : error;
  }
}

function readIntOrString(value: unknown): unknown {
  if (typeof value === 'string') return value;
  const isNumber = typeof value === 'number' || value instanceof ExactNumber;
  const kind = isNumber ? `number ${value}` : jsonKind(value);
  const number = isNumber && /^-?\d+$/.test(String(value)) ? Number(value) : Number.NaN;
  if (!(number >= -(2 ** 31) && number < 2 ** 31)) {
    throw new GoValueError(`json: cannot unmarshal ${kind} into Go value of type int32`);
  }
  return number;
}

/** Returns Go's error for a text that is not base64, otherwise undefined. Line breaks are ignored, as in Go. */
export function checkBase64(text: string): string | undefined {
  const at = base64Fault(text);
  return at === undefined ? undefined : `illegal base64 data at input byte ${at}`;
}

function base64Fault(text: string): number | undefined {
  const body = /^[A-Za-z0-9+/\r\n]*/.exec(text)?.[0].length ?? 0;
  const partial = lengthWithoutBreaks(text, 0, body) % 4;
  if (body === text.length) return partial === 0 ? undefined : body - partial;
  if (text[body] !== '=' || partial < 2) return body;
  const padding = lengthWithoutBreaks(text, body, text.length);
  if (partial === 2 && !/^=[\r\n]*=/.test(text.slice(body))) return padding === 1 ? text.length : body + 1;
  const needed = 4 - partial;
  return padding === needed ? undefined : body + needed;
}

/** Counts instead of cutting: a text may consist of line breaks. */
function lengthWithoutBreaks(text: string, start: number, end: number): number {
  let length = end - start;
  for (let i = start; i < end; i++) {
    const unit = text.charCodeAt(i);
    if (unit === 0x0a || unit === 0x0d) length -= 1;
  }
  return length;
}

/** Formats a value like Go's %v: `map[image:x ports:[1 2]]`, keys in order. */
export function formatGoValue(value: unknown): string {
  if (value === null || value === undefined) return '<nil>';
  if (Array.isArray(value)) return `[${value.map(formatGoValue).join(' ')}]`;
  if (isNumber(value)) return formatGoNumber(value);
  if (!isJsonObject(value)) return String(value);
  const members = Object.keys(value).sort();
  return `map[${members.map((name) => `${name}:${formatGoValue(value[name])}`).join(' ')}]`;
}

/** Formats a scalar like Go's %s: `x`, `%!s(int64=5)`. */
export function formatGoText(value: unknown): string {
  if (typeof value === 'string') return value;
  if (value === null || value === undefined) return '%!s(<nil>)';
  return typeof value === 'object' ? formatGoValue(value) : `%!s(${goInterfaceType(value)}=${formatGoValue(value)})`;
}

/**
 * Returns the Go type of a value decoded into an interface, as in "expected a []interface {}, but received a string".
 */
export function goInterfaceType(value: unknown): string {
  if (value === null || value === undefined) return '%!s(<nil>)';
  if (Array.isArray(value)) return '[]interface {}';
  if (isJsonObject(value)) return 'map[string]interface {}';
  if (typeof value === 'boolean') return 'bool';
  if (typeof value === 'string') return 'string';
  return /^-?\d+$/.test(String(value)) ? 'int64' : 'float64';
}
