// Equality of JSON data whatever the order of keys: what decides that an update changes nothing.
import { ExactNumber } from '@kapstan/api';

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
