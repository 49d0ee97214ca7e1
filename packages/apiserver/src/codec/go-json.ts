// Writes JSON as Go's encoder writes values without a type: members sorted, and characters escaped that could end a
// script. A kube-apiserver stores custom resources so, and clients in Go send raw JSON so.

import { stringifyJson } from '@kapstan/api';
import { sortedValue } from '../schema/sorted-value.ts';

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
