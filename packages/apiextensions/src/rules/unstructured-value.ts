// Data of an object as values of expressions, by its schema: texts of some formats are times or bytes, a number is a
// double even when it is whole, and objects show the properties that the schema names. Source: apiserver pkg/cel/common
// UnstructuredToVal.
import { ExactNumber } from '@kapstan/api';
import { isJsonObject } from '@kapstan/api/internal';
import { jsonEqual } from '@kapstan/apiserver/internal';
import { CelFailure, CelObject, type CelType, doubleValue, intValue, typeOf } from '@kapstan/cel';
import { formattedText } from './formatted-text.ts';
import { hasProperties, isEmbedded, isIntOrString, itemsOf, type RuleSchema, resourceRoot } from './rule-schema.ts';
import { escapedKeys, MapListValue, SetListValue, UnstructuredList } from './unstructured-list.ts';
import { MapValue, ObjectValue } from './unstructured-map.ts';

/** Turns data into a value; data that does not fit the schema becomes an error. */
export type ToValue = (data: unknown) => unknown;

const converters = new WeakMap<RuleSchema, ToValue>();

/** Returns the conversion for a schema, which is made once. */
export function toValueOf(schema: RuleSchema): ToValue {
  const known = converters.get(schema);
  if (known !== undefined) return known;
  const convert = conversionOf(schema);
  const isNullable = schema.nullable === true;
  const toValue: ToValue = (data) =>
    data === null || data === undefined ? (isNullable ? null : forbiddenNull) : convert(data);
  converters.set(schema, toValue);
  return toValue;
}

const forbiddenNull = new CelFailure('invalid data, got null for schema with nullable=false');

function conversionOf(schema: RuleSchema): ToValue {
  if (isIntOrString(schema)) return intOrString;
  switch (schema.type) {
    case 'object':
      return objectConversion(schema);
    case 'array':
      return listConversion(schema);
    case 'string':
      return textConversion(schema.format ?? '');
    case 'number':
      return toDouble;
    case 'integer':
      return (data) => toInt(data) ?? new CelFailure(`invalid data, expected int, got ${goType(data)}`);
    case 'boolean':
      return (data) =>
        typeof data === 'boolean' ? data : new CelFailure(`invalid data, expected bool, got ${goType(data)}`);
    default:
      return schema['x-kubernetes-preserve-unknown-fields'] === true
        ? (data) => new UnknownValue(data)
        : () => new CelFailure(unknownType(schema.type ?? ''));
  }
}

const unknownType = (type: string): string =>
  `invalid type, expected object, array, number, integer, boolean or string, or no type with x-kubernetes-int-or-string or x-kubernetes-preserve-unknown-fields is true, got ${type}`;

const intOrString: ToValue = (data) => {
  if (typeof data === 'string') return data;
  return toInt(data) ?? new CelFailure('invalid data, expected XIntOrString value to be either a string or integer');
};

const noMap = new CelFailure('invalid data, expected a map for the provided schema with type=object');

function objectConversion(schema: RuleSchema): ToValue {
  if (isEmbedded(schema) || hasProperties(schema)) {
    const shown = isEmbedded(schema) ? resourceRoot(schema) : schema;
    return (data) => (isJsonObject(data) ? new ObjectValue(data, shown, toValueOf) : noMap);
  }
  return (data) => (isJsonObject(data) ? new MapValue(data, schema, toValueOf) : noMap);
}

const noArray = new CelFailure('invalid data, expected an array for the provided schema with type=array');
const noItems = new CelFailure('invalid array type, expected Items with a non-empty Schema');

function listConversion(schema: RuleSchema): ToValue {
  const items = itemsOf(schema);
  if (items === undefined) return (data) => (Array.isArray(data) ? noItems : noArray);
  const toItem = toValueOf(items);
  switch (schema['x-kubernetes-list-type']) {
    case 'map': {
      const keys = escapedKeys(schema['x-kubernetes-list-map-keys'] ?? []);
      return (data) => (Array.isArray(data) ? new MapListValue(data, toItem, keys) : noArray);
    }
    case 'set':
      return (data) => (Array.isArray(data) ? new SetListValue(data, toItem) : noArray);
    default:
      return (data) => (Array.isArray(data) ? new UnstructuredList(data, toItem) : noArray);
  }
}

function textConversion(format: string): ToValue {
  const read = formattedText(format);
  return (data) => {
    if (typeof data !== 'string') return new CelFailure(`invalid data, expected string, got ${goType(data)}`);
    return read === undefined ? data : read(data);
  };
}

const toDouble: ToValue = (data) => {
  if (typeof data === 'number') return doubleValue(data);
  if (data instanceof ExactNumber) return doubleValue(Number(data.text));
  return new CelFailure(`invalid data, expected float, got ${goType(data)}`);
};

/** Returns undefined when the data is not a 64-bit int. */
function toInt(data: unknown): unknown {
  if (typeof data === 'number') return Number.isSafeInteger(data) ? data : bigInt(data);
  if (!(data instanceof ExactNumber) || !/^-?\d+$/.test(data.text)) return undefined;
  return ofInt64(BigInt(data.text));
}

function bigInt(data: number): unknown {
  return Number.isInteger(data) ? ofInt64(BigInt(data)) : undefined;
}

function ofInt64(whole: bigint): unknown {
  return BigInt.asIntN(64, whole) === whole ? intValue(whole) : undefined;
}

/** Returns the Go type of data read from JSON, which some errors name. */
function goType(data: unknown): string {
  if (Array.isArray(data)) return '[]interface {}';
  if (typeof data === 'string' || typeof data === 'boolean') return typeof data === 'string' ? 'string' : 'bool';
  if (typeof data === 'number' || data instanceof ExactNumber) return toInt(data) === undefined ? 'float64' : 'int64';
  return 'map[string]interface {}';
}

/** Data without a schema, which can only be compared. */
class UnknownValue extends CelObject {
  readonly type: CelType = typeOf('dyn');
  readonly data: unknown;

  constructor(data: unknown) {
    super();
    this.data = data;
  }

  override equals(other: unknown): boolean {
    return jsonEqual(this.data, other instanceof UnknownValue ? other.data : other);
  }
}
