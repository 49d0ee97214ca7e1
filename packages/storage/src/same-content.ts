// Whether two JSON values are the same but for the order of their members, in slices: a large object that was only reordered.
// Used by codec.ts.
import { isDeepStrictEqual } from 'node:util';
import { fitsOneSlice, isJsonObject, membersPerSlice, type SlicedWork } from '@kapstan/api';

const itemsPerSlice = 64;

export function* isSameJson(a: unknown, b: unknown): SlicedWork<boolean> {
  if (fitsOneSlice(a) || fitsOneSlice(b)) return isDeepStrictEqual(a, b);
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && (yield* areSameItems(a, b));
  if (!isJsonObject(a) || !isJsonObject(b)) return false;
  const names = Object.keys(a);
  if (names.length !== Object.keys(b).length) return false;
  for (const [index, name] of names.entries()) {
    if (!Object.hasOwn(b, name) || !(yield* isSameMember(a[name], b[name]))) return false;
    if (index % membersPerSlice === membersPerSlice - 1) yield;
  }
  return true;
}

function* areSameItems(a: readonly unknown[], b: readonly unknown[]): SlicedWork<boolean> {
  for (const [index, item] of a.entries()) {
    if (!(yield* isSameMember(item, b[index]))) return false;
    if (index % itemsPerSlice === itemsPerSlice - 1) yield;
  }
  return true;
}

function* isSameMember(a: unknown, b: unknown): SlicedWork<boolean> {
  return a === b || (typeof a === 'object' && (yield* isSameJson(a, b)));
}
