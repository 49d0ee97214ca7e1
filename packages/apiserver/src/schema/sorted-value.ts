// Sorts the members of JSON objects as Go does when it writes a map.
import { ExactNumber } from '@kapstan/api';
import { setOwn } from '@kapstan/api/internal';

const surrogate = /[\ud800-\udfff]/;

/** Returns own keys sorted by their bytes, as in Go: beyond the basic plane, the order of UTF-16 units differs. */
export function sortedKeys(value: object): string[] {
  const keys = Object.keys(value).sort();
  if (!keys.some((key) => surrogate.test(key))) return keys;
  return keys.sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
}

/** Returns a copy of a JSON value in which the members of all objects are sorted. */
export function sortedValue(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || value instanceof ExactNumber) return value;
  if (Array.isArray(value)) return value.map(sortedValue);
  const copy: Record<string, unknown> = {};
  for (const key of sortedKeys(value)) setOwn(copy, key, sortedValue((value as Record<string, unknown>)[key]));
  return copy;
}
