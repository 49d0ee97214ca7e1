// Equality of JSON data regardless of the order of keys. It decides whether an update changes anything.

import { ExactNumber } from '@kapstan/api';
import { fitsOneSlice, getOwn, isJsonObject, namesInSlices, type SlicedWork, SlicePace } from '@kapstan/api/internal';
import { isKeptEmpty } from '../../schema/node/kept-empties.ts';

/**
 * Compares own enumerable keys; a member that is undefined counts as absent, and so does an empty list or map that the
 * stored form lacks ({@link isKeptEmpty}). Numbers too long for doubles compare by digits.
 */
export function jsonEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return areBothNone(a, b);
  if (a instanceof ExactNumber || b instanceof ExactNumber) {
    return a instanceof ExactNumber && b instanceof ExactNumber && a.text === b.text;
  }
  if (Array.isArray(a) || Array.isArray(b)) return Array.isArray(a) && Array.isArray(b) && arraysEqual(a, b);
  return objectsEqual(a as Record<string, unknown>, b as Record<string, unknown>);
}

function areBothNone(a: unknown, b: unknown): boolean {
  return (isNone(a) && isKeptEmpty(b)) || (isNone(b) && isKeptEmpty(a));
}

function isNone(value: unknown): boolean {
  return value === undefined || value === null;
}

function arraysEqual(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((item, index) => jsonEqual(item, b[index]));
}

function objectsEqual(a: Record<string, unknown>, b: Record<string, unknown>): boolean {
  return membersEqual(a, b, undefined);
}

/** True when all members but one are equal. Every write calls it for its object, so it makes no list of the keys. */
export function membersEqual(
  a: Readonly<Record<string, unknown>>,
  b: Readonly<Record<string, unknown>>,
  except: string | undefined,
): boolean {
  let surplus = 0;
  for (const key in a) {
    if (key === except || a[key] === undefined) continue;
    const other = getOwn(b, key);
    if (!jsonEqual(a[key], other)) return false;
    if (other !== undefined) surplus++;
  }
  for (const key in b) if (key !== except && b[key] !== undefined) surplus--;
  return surplus === 0 || surplus + emptiesBeyond(a, b, except) === 0;
}

/** Returns the number of members that count as absent and that the first object lacks. */
function emptiesBeyond(a: object, b: Readonly<Record<string, unknown>>, except: string | undefined): number {
  return Object.keys(b).filter((key) => key !== except && getOwn(a, key) === undefined && isKeptEmpty(b[key])).length;
}

/** Does what {@link jsonEqual} does, for values of any size. */
export function* jsonEqualInSlices(a: unknown, b: unknown): SlicedWork<boolean> {
  if (fitsOneSlice(a) || fitsOneSlice(b)) return jsonEqual(a, b);
  return yield* findDifferences(a, b, { found: new Map(), pace: new SlicePace() });
}

interface DifferenceSearch {
  /** Receives each map and list of the second value that differs, with its counterpart in the first as key. */
  readonly found: Map<unknown, unknown>;
  readonly pace: SlicePace;
}

/**
 * Compares all parts of two values, each of them once, even if they differ at a deep level. It calls itself once per
 * level; values may be a thousand levels deep.
 */
export function* findDifferences(a: unknown, b: unknown, search: DifferenceSearch): SlicedWork<boolean> {
  if (a === b || typeof b !== 'object' || b === null) return jsonEqual(a, b);
  const alike = areAlike(a, b);
  let areEqual = alike ? hasNamesOf(b as Members, a as Members) : jsonEqual(a, b);
  const names = Array.isArray(b) ? undefined : yield* namesInSlices(b);
  const count = alike ? ((names ?? b) as { readonly length: number }).length : 0;
  for (let index = 0; index < count; index++) {
    if (search.pace.isDue()) yield;
    const name = names === undefined ? index : (names[index] as string);
    const [was, is] = [ownMember(a as Members, name), (b as Members)[name]];
    if (was !== is && !(yield* findDifferences(was, is, search))) areEqual = false;
  }
  if (!areEqual) search.found.set(b, a);
  return areEqual;
}

function ownMember(object: Members, name: string | number): unknown {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

function areAlike(a: unknown, b: unknown): boolean {
  return (Array.isArray(a) && Array.isArray(b)) || (isJsonObject(a) && isJsonObject(b));
}

/** True when the first has all members of the second. Lists must have the same length. */
function hasNamesOf(a: Members, b: Members): boolean {
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length;
  for (const name in b) if (b[name] !== undefined && !Object.hasOwn(a, name) && !isKeptEmpty(b[name])) return false;
  return true;
}

type Members = Readonly<Record<string | number, unknown>>;
