// The protobuf structs of every environment: `google.protobuf.Int64Value{value: 1}`. Their values are plain values.
import {
  anyListType,
  boolType,
  bytesType,
  type CelType,
  doubleType,
  durationType,
  dynType,
  intType,
  listType,
  mapType,
  nullableType,
  nullType,
  stringType,
  timestampType,
  uintType,
} from '../types/cel-type.ts';
import type { TypeProvider } from '../types/type-provider.ts';
import { typeOf } from '../types/type-text.ts';
import { CelDuration } from '../values/duration.ts';
import { CelFailure } from '../values/failure.ts';
import type { Int } from '../values/integers.ts';
import { toJsonValue } from '../values/json-value.ts';
import { CelDouble, CelUint, numberOfDouble } from '../values/numbers.ts';
import { CelTimestamp, isInRange } from '../values/timestamp.ts';
import { doubleValue } from '../values/value.ts';

type Fields = ReadonlyMap<string, unknown>;

interface WellKnownStruct {
  /** The type of its values. */
  readonly type: CelType;
  readonly fields: ReadonlyMap<string, CelType>;
  readonly construct: (fields: Fields) => unknown;
}

function wrapper(type: CelType, zero: unknown, check: (value: unknown) => unknown = (value) => value): WellKnownStruct {
  return {
    type: nullableType(type),
    fields: new Map([['value', type]]),
    construct: (fields) => check(fields.get('value') ?? zero),
  };
}

const int32Overflow = new CelFailure('integer overflow');
const uint32Overflow = new CelFailure('unsigned integer overflow');

const asInt32 = (value: unknown): unknown => ((value as Int) === (Number(value) | 0) ? value : int32Overflow);
const asUint32 = (value: unknown): unknown => ((value as CelUint).value < 2n ** 32n ? value : uint32Overflow);
const asFloat = (value: unknown): unknown => doubleValue(Math.fround(numberOfDouble(value)));

function secondsAndNanos(fields: Fields): [seconds: bigint, nanos: bigint] {
  return [BigInt((fields.get('seconds') ?? 0) as Int), BigInt((fields.get('nanos') ?? 0) as Int)];
}

const timeFields = new Map([
  ['seconds', intType],
  ['nanos', intType],
]);

function timestamp(fields: Fields): unknown {
  const [seconds, nanos] = secondsAndNanos(fields);
  if (!isInRange(Number(seconds))) return new CelFailure('timestamp overflow');
  return new CelTimestamp(Number(seconds)).plus(nanos) ?? new CelFailure('timestamp overflow');
}

function duration(fields: Fields): unknown {
  const [seconds, nanos] = secondsAndNanos(fields);
  return new CelDuration(seconds * 1_000_000_000n + nanos);
}

const valueFields: ReadonlyMap<string, CelType> = new Map([
  ['null_value', nullType],
  ['number_value', doubleType],
  ['string_value', stringType],
  ['bool_value', boolType],
  ['struct_value', mapType(stringType, dynType)],
  ['list_value', anyListType],
]);

function anyValue(fields: Fields): unknown {
  const [value = null] = Array.from(fields.values());
  return toJsonValue(value);
}

const structs: ReadonlyMap<string, WellKnownStruct> = new Map<string, WellKnownStruct>([
  ['BoolValue', wrapper(boolType, false)],
  ['BytesValue', wrapper(bytesType, new Uint8Array(0))],
  ['DoubleValue', wrapper(doubleType, new CelDouble(0))],
  ['FloatValue', wrapper(doubleType, new CelDouble(0), asFloat)],
  ['Int32Value', wrapper(intType, 0, asInt32)],
  ['Int64Value', wrapper(intType, 0)],
  ['StringValue', wrapper(stringType, '')],
  ['UInt32Value', wrapper(uintType, new CelUint(0n), asUint32)],
  ['UInt64Value', wrapper(uintType, new CelUint(0n))],
  ['Duration', { type: durationType, fields: timeFields, construct: duration }],
  ['Timestamp', { type: timestampType, fields: timeFields, construct: timestamp }],
  [
    'ListValue',
    {
      type: listType(dynType),
      fields: new Map([['values', listType(dynType)]]),
      construct: (fields) => toJsonValue(fields.get('values') ?? []),
    },
  ],
  [
    'Struct',
    {
      type: typeOf('map(string, dyn)'),
      fields: new Map([['fields', typeOf('map(string, dyn)')]]),
      construct: (fields) => toJsonValue(fields.get('fields') ?? {}),
    },
  ],
  ['Value', { type: dynType, fields: valueFields, construct: anyValue }],
]);

const prefix = 'google.protobuf.';

function structOf(name: string): WellKnownStruct | undefined {
  return name.startsWith(prefix) ? structs.get(name.slice(prefix.length)) : undefined;
}

export const wellKnownTypes: TypeProvider = {
  hasStruct: (name) => structOf(name) !== undefined,
  structType: (name) => structOf(name)?.type,
  fieldType: (name, field) => structOf(name)?.fields.get(field),
  construct: (name, fields) => structOf(name)?.construct(fields),
};
