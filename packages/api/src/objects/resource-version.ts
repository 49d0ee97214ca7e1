// The two kinds of version: opaque text for clients, an ordered number inside the storage stack.

import { readDecimal } from '../formats/parse-int64.ts';

declare const brand: unique symbol;
/** A nominal type: a `T` that only its parser can make. */
export type Brand<T, B extends string> = T & { readonly [brand]: B };

/** A version is opaque to clients and is never compared with `<`. `""` = most recent, `"0"` = any. */
export type ResourceVersion = Brand<string, 'ResourceVersion'>;

/** Revisions are ordered, used in storage only, and exact below 2^53. 0 means "no revision". */
export type Revision = Brand<number, 'Revision'>;

const uint64 = /^(?:0|[1-9][0-9]*)$/;
const maxUint64 = 18_446_744_073_709_551_615n;

/** Reads a base-10 uint64 like Go's strconv.ParseUint (leading zeros allowed). */
function uint64Of(text: string): bigint | undefined {
  const value = /^[0-9]/.test(text) ? readDecimal(text) : undefined;
  return value === undefined || value > maxUint64 ? undefined : value;
}

/**
 * Parses a version as the storage versioner does: `""` and `"0"` give 0; other text must be a base-10 uint64. Values
 * beyond 2^53 - 1 are clamped to it: they are in the future of any store and are answered accordingly. Returns
 * undefined when the text is not a uint64. Source: apiserver storage/api_object_versioner.go (ParseResourceVersion).
 */
export function parseRevision(text: string): Revision | undefined {
  if (text === '') return 0 as Revision;
  const value = uint64Of(text);
  if (value === undefined) return undefined;
  return Number(value > BigInt(Number.MAX_SAFE_INTEGER) ? BigInt(Number.MAX_SAFE_INTEGER) : value) as Revision;
}

/** Makes a revision from a number of a store. */
export function toRevision(value: number): Revision {
  if (!Number.isSafeInteger(value) || value < 0) throw new TypeError(`not a revision: ${value}`);
  return value as Revision;
}

export function formatRevision(revision: Revision): ResourceVersion {
  return String(revision) as ResourceVersion;
}

/**
 * Orders two resource versions of one resource type: negative, 0 or positive. Both must be decimal without leading
 * zeros and not "0"; throws TypeError otherwise. Source: apimachinery CompareResourceVersion.
 *
 * @example
 * ```ts
 * import { compareResourceVersions } from '@kapstan/api';
 *
 * compareResourceVersions('9', '10') < 0; // true; as texts, "9" would be the larger one
 * ```
 */
export function compareResourceVersions(a: string, b: string): number {
  for (const text of [a, b]) {
    if (!uint64.test(text) || text === '0')
      throw new TypeError(`resource version is not well formed: ${JSON.stringify(text)}`);
  }
  return a.length !== b.length ? a.length - b.length : a < b ? -1 : a > b ? 1 : 0;
}
