// Writes JSON as Go's encoder writes values without a type: members sorted, and characters escaped that could end a
// script. A kube-apiserver stores custom resources so, and clients in Go send raw JSON so.

import { ExactNumber, stringifyJson } from '@kapstan/api';
import { setOwn } from '@kapstan/api/internal';

const surrogate = /[\ud800-\udfff]/;

/** Returns own keys sorted by their bytes, as in Go: beyond the basic plane the order of UTF-16 is another one. */
export function sortedKeys(value: object): string[] {
  const keys = Object.keys(value).sort();
  if (!keys.some((key) => surrogate.test(key))) return keys;
  return keys.sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
}

const escapedByGo = /[<>&\u2028\u2029]/g;

/** Writes JSON with members in their present order. */
export function stringifyEscaped(value: unknown): string {
  return stringifyJson(value).replace(
    escapedByGo,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** Writes JSON with sorted members. */
export function stringifySorted(value: unknown): string {
  return stringifyEscaped(sortedValue(value));
}

/** Returns a copy of a JSON value in which the members of all objects are sorted. */
export function sortedValue(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || value instanceof ExactNumber) return value;
  if (Array.isArray(value)) return value.map(sortedValue);
  const copy: Record<string, unknown> = {};
  for (const key of sortedKeys(value)) setOwn(copy, key, sortedValue((value as Record<string, unknown>)[key]));
  return copy;
}
