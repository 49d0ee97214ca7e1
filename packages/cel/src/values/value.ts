// Value: the values of expressions. JSON is used as it is: true, null, strings, lists (arrays), objects (maps with
// string keys) and numbers: a safe integer is an int, any other number a double. Everything that JSON cannot
// distinguish is boxed.
import {
  anyListType,
  anyMapType,
  anyOptionalType,
  boolType,
  bytesType,
  CelType,
  doubleType,
  durationType,
  errorType,
  intType,
  nullType,
  stringType,
  timestampType,
  typeType,
  uintType,
} from '../types/cel-type.ts';
import { CelBox, type ValueKind } from './cel-box.ts';
import type { CelObject } from './cel-object.ts';
import { type Int, intOf } from './integers.ts';
import { CelDouble } from './numbers.ts';

/** A JSON object: a map whose keys are strings. */
export interface JsonMap {
  readonly [key: string]: unknown;
}

/** Any value, including one that represents an error ({@link CelFailure}). */
export type Value =
  | boolean
  | null
  | string
  | number
  | bigint
  | Uint8Array
  | CelBox
  | CelType
  | readonly unknown[]
  | JsonMap;

/** Returns the int of a bigint that fits 64 bits. */
export const intValue: (value: bigint) => Int = intOf;

/** Returns the double of a number; numbers that would look like ints are boxed. */
export function doubleValue(value: number): number | CelDouble {
  return Number.isSafeInteger(value) ? new CelDouble(value) : value;
}

/** Returns the kind of a value. */
export function kindOf(value: unknown): ValueKind {
  switch (typeof value) {
    case 'boolean':
      return 'bool';
    case 'string':
      return 'string';
    case 'number':
      return Number.isSafeInteger(value) ? 'int' : 'double';
    case 'bigint':
      return 'int';
    default:
      return kindOfObject(value);
  }
}

function kindOfObject(value: unknown): ValueKind {
  if (value === null || value === undefined) return 'null';
  if (Array.isArray(value)) return 'list';
  if (value instanceof CelBox) return value.kind;
  if (value instanceof Uint8Array) return 'bytes';
  return value instanceof CelType ? 'type' : 'map';
}

const types: Record<Exclude<ValueKind, 'object'>, CelType> = {
  bool: boolType,
  bytes: bytesType,
  double: doubleType,
  duration: durationType,
  failure: errorType,
  int: intType,
  list: anyListType,
  map: anyMapType,
  null: nullType,
  optional: anyOptionalType,
  string: stringType,
  timestamp: timestampType,
  type: typeType,
  uint: uintType,
};

/** Returns the type at run time, which is the result of `type(value)`. */
export function typeOfValue(value: unknown): CelType {
  const kind = kindOf(value);
  return kind === 'object' ? (value as CelObject).type : types[kind];
}
