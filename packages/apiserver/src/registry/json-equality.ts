// Equality of JSON data whatever the order of keys: what decides that an update changes nothing.
import { ExactNumber, isJsonObject, type SlicedWork, type SlicePace } from '@kapstan/api';

/** Own enumerable keys only; a member that is undefined counts as absent. Numbers too long for doubles compare by their digits. */
export function jsonEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (a instanceof ExactNumber || b instanceof ExactNumber) {
    return a instanceof ExactNumber && b instanceof ExactNumber && a.text === b.text;
  }
  if (Array.isArray(a) || Array.isArray(b)) return Array.isArray(a) && Array.isArray(b) && arraysEqual(a, b);
  return objectsEqual(a as Record<string, unknown>, b as Record<string, unknown>);
}

function arraysEqual(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((item, index) => jsonEqual(item, b[index]));
}

function objectsEqual(a: Record<string, unknown>, b: Record<string, unknown>): boolean {
  return membersEqual(a, b, undefined);
}

/** Whether all members but one are equal. That of an object is asked for in every write: no list of the keys is made. */
export function membersEqual(
  a: Readonly<Record<string, unknown>>,
  b: Readonly<Record<string, unknown>>,
  except: string | undefined,
): boolean {
  let surplus = 0;
  for (const key in a) {
    if (key === except || a[key] === undefined) continue;
    if (!Object.hasOwn(b, key) || !jsonEqual(a[key], b[key])) return false;
    surplus++;
  }
  for (const key in b) if (key !== except && b[key] !== undefined) surplus--;
  return surplus === 0;
}

interface DifferenceSearch {
  /** Gets each map and list of the second value that differs from its counterpart in the first, by which it is found. */
  readonly found: Map<unknown, unknown>;
  readonly pace: SlicePace;
}

/** {@link jsonEqual} of all parts of two values at once: looks at each part once, however deep the differences lie. */
export function* findDifferences(a: unknown, b: unknown, search: DifferenceSearch): SlicedWork<boolean> {
  if (a === b) return true;
  if (typeof b !== 'object' || b === null) return jsonEqual(a, b);
  let areEqual: boolean;
  if (Array.isArray(a) && Array.isArray(b)) areEqual = yield* findInLists(a, b, search);
  else if (isJsonObject(a) && isJsonObject(b)) areEqual = yield* findInMaps(a, b, search);
  else areEqual = jsonEqual(a, b);
  if (!areEqual) search.found.set(b, a);
  return areEqual;
}

function* findInLists(a: readonly unknown[], b: readonly unknown[], search: DifferenceSearch): SlicedWork<boolean> {
  let areEqual = a.length === b.length;
  for (let index = 0; index < b.length && index < a.length; index++) {
    if (search.pace.isDue()) yield;
    const [was, is] = [a[index], b[index]];
    if (was !== is && (typeof is !== 'object' || !(yield* findDifferences(was, is, search)))) areEqual = false;
  }
  return areEqual;
}

function* findInMaps(a: Members, b: Members, search: DifferenceSearch): SlicedWork<boolean> {
  let areEqual = true;
  for (const name in b) {
    if (search.pace.isDue()) yield;
    const [was, is] = [Object.hasOwn(a, name) ? a[name] : undefined, b[name]];
    if (was !== is && (typeof is !== 'object' || !(yield* findDifferences(was, is, search)))) areEqual = false;
  }
  for (const name in a) {
    if (search.pace.isDue()) yield;
    if (a[name] !== undefined && !Object.hasOwn(b, name)) areEqual = false;
  }
  return areEqual;
}

type Members = Readonly<Record<string, unknown>>;
