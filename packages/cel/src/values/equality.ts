// Compares any two values. Values of different types are unequal, but numbers are compared by value.
import type { CelType } from '../types/cel-type.ts';
import { type AnyList, CelList, isList, listAt, listItems, listSize } from './cel-list.ts';
import { type AnyMap, CelMapping, isMap, mapFind, mapSize } from './cel-map.ts';
import { CelObject } from './cel-object.ts';
import { compareNumbers, isNumberKind } from './comparison.ts';
import type { CelDuration } from './duration.ts';
import type { CelFailure } from './failure.ts';
import type { CelOptional } from './optional.ts';
import type { CelTimestamp } from './timestamp.ts';
import { kindOf } from './value.ts';

/** Returns whether both are equal, or the error of a value that cannot be compared with values of another type. */
export function equalValues(left: unknown, right: unknown): boolean | CelFailure {
  if (left === right) return isEqualToItself(left);
  if (left === null || right === null) return false;
  if (typeof left === 'string' || typeof left === 'boolean') return false;
  const own = left instanceof CelList || left instanceof CelMapping ? left.equals(right) : undefined;
  if (own !== undefined) return own;
  const kind = kindOf(left);
  if (kind === 'object') return (left as CelObject).equals(right);
  const otherKind = kindOf(right);
  if (isNumberKind(kind)) return isNumberKind(otherKind) && compareNumbers(left, right) === 0;
  return kind === otherKind && equalOfKind(kind, left, right);
}

function isEqualToItself(value: unknown): boolean | CelFailure {
  return value instanceof CelObject ? value.equals(value) : !Number.isNaN(value);
}

function equalOfKind(kind: string, left: unknown, right: unknown): boolean | CelFailure {
  switch (kind) {
    case 'bytes':
      return equalBytes(left as Uint8Array, right as Uint8Array);
    case 'duration':
      return (left as CelDuration).nanos === (right as CelDuration).nanos;
    case 'list':
      return equalLists(left as AnyList, right as AnyList);
    case 'map':
      return equalMaps(left as AnyMap, right as AnyMap);
    case 'optional':
      return equalOptionals(left as CelOptional, right as CelOptional);
    case 'timestamp':
      return (left as CelTimestamp).totalNanos === (right as CelTimestamp).totalNanos;
    case 'type':
      return (left as CelType).name === (right as CelType).name;
    default:
      return false;
  }
}

function equalBytes(left: Uint8Array, right: Uint8Array): boolean {
  return left.length === right.length && left.every((byte, i) => byte === right[i]);
}

/** Elements that cannot be compared do not make lists unequal. */
function equalLists(left: AnyList, right: AnyList): boolean {
  const size = listSize(left);
  if (size !== listSize(right)) return false;
  for (let i = 0; i < size; i++) {
    if (equalValues(listAt(left, i), listAt(right, i)) === false) return false;
  }
  return true;
}

function equalMaps(left: AnyMap, right: AnyMap): boolean {
  if (mapSize(left) !== mapSize(right)) return false;
  if (left instanceof CelMapping) {
    for (const { key, value } of left.entries()) if (!hasEqual(right, key, value)) return false;
    return true;
  }
  return Object.keys(left).every((key) => hasEqual(right, key, left[key]));
}

function hasEqual(map: AnyMap, key: unknown, value: unknown): boolean {
  const other = mapFind(map, key);
  return other !== undefined && equalValues(value, other) !== false;
}

function equalOptionals(left: CelOptional, right: CelOptional): boolean | CelFailure {
  if (!left.hasValue || !right.hasValue) return left.hasValue === right.hasValue;
  return equalValues(left.value, right.value);
}

/** Returns whether a list contains the value, or a map the key; undefined for everything else. */
export function contains(container: unknown, value: unknown): boolean | CelFailure | undefined {
  const own = container instanceof CelList ? container.contains(value) : undefined;
  if (own !== undefined) return own;
  if (isList(container)) return listItems(container).some((item) => equalValues(value, item) === true);
  return isMap(container) ? mapFind(container, value) !== undefined : undefined;
}
