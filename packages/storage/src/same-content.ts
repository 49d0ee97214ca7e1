// Compares two JSON values regardless of the order of their members. Used by codec.ts and object-update.ts.
import { isDeepStrictEqual } from 'node:util';
import { fitsOneSlice, isJsonObject, membersPerSlice, type SlicedWork } from '@kapstan/api/internal';

/**
 * Returns true only if the two values cannot have the same JSON: in some place both have a text, number or boolean, and
 * these differ. False leaves it open: members that one side lacks, and values that JSON writes in another form, need a
 * comparison of the encodings.
 */
export function surelyDiffer(a: unknown, b: unknown): boolean {
  if (a === b) return false;
  if (typeof a !== 'object' || typeof b !== 'object')
    return typeof a === typeof b && (typeof a === 'string' || typeof a === 'boolean' || isOtherNumber(a, b));
  if (Array.isArray(a)) return Array.isArray(b) && a.some((item, index) => surelyDiffer(item, b[index]));
  if (!isJsonObject(a) || !isJsonObject(b)) return false;
  for (const name in a) if (surelyDiffer(a[name], b[name])) return true;
  return false;
}

/** Returns whether JSON writes two numbers differently. It writes -0 as 0, and infinities and NaN as null. */
function isOtherNumber(a: unknown, b: unknown): boolean {
  return Number.isFinite(a) && Number.isFinite(b) && Number(a) !== Number(b);
}

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
