// JSON as Go's encoder writes values without a type: members sorted, and escaped what could end a script. That is how a
// kube-apiserver stores custom resources, and what clients in Go send as raw JSON.

import { ExactNumber, stringifyJson } from '@kapstan/api';
import { setOwn } from '@kapstan/api/internal';

const surrogate = /[\ud800-\udfff]/;

/** Own keys by their bytes, as Go sorts them: the order of UTF-16 is another one beyond the basic plane. */
export function sortedKeys(value: object): string[] {
  const keys = Object.keys(value).sort();
  if (!keys.some((key) => surrogate.test(key))) return keys;
  return keys.sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
}

const escapedByGo = /[<>&\u2028\u2029]/g;

/** Members in the order that they have. */
export function stringifyEscaped(value: unknown): string {
  return stringifyJson(value).replace(
    escapedByGo,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** Members sorted. */
export function stringifySorted(value: unknown): string {
  return stringifyEscaped(sorted(value));
}

function sorted(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || value instanceof ExactNumber) return value;
  if (Array.isArray(value)) return value.map(sorted);
  const copy: Record<string, unknown> = {};
  for (const key of sortedKeys(value)) setOwn(copy, key, sorted((value as Record<string, unknown>)[key]));
  return copy;
}
