// Decodes values of the query as Kubernetes' conversion of Go's url.Values does. Used by every parser of options.

import { badRequest } from '@kapstan/api/errors';
import { goQuote, parseInt64 } from '@kapstan/api/internal';
import type { QueryOptions, QueryOptionTypes } from '../../registry/definition/resource-definition.ts';
import { canonicalTime, GoTimeError } from '../../schema/go/go-time.ts';

const maxInt64 = 9_223_372_036_854_775_807n;
const maxUint16 = 65_535n;

/**
 * Decodes a boolean. Absent gives undefined; "false" (any case) and "0" give false; everything else, "" included, gives
 * true.
 */
export function decodeBoolean(text: string | null): boolean | undefined {
  if (text === null) return undefined;
  return !(text.toLowerCase() === 'false' || text === '0');
}

/** Decodes a base-10 int64. Throws the 400 of strconv.ParseInt. Values beyond 2^53 are limited to it. */
export function decodeInteger(text: string | null): number | undefined {
  if (text === null) return undefined;
  if (!/^[+-]?[0-9]+$/.test(text)) throw badRequest(`strconv.ParseInt: parsing ${goQuote(text)}: invalid syntax`);
  const value = parseInt64(text);
  if (value === undefined) {
    throw badRequest(`strconv.ParseInt: parsing ${goQuote(text)}: value out of range`);
  }
  const clamped = Math.min(Math.max(Number(value), Number.MIN_SAFE_INTEGER), Number.MAX_SAFE_INTEGER);
  return clamped;
}

/** Decodes the options of a subresource by their declared types. Throws 400 for values that cannot be read. */
export function decodeOptions(query: URLSearchParams, types: QueryOptionTypes): QueryOptions {
  const entries = Object.entries(types).map(([name, type]) => {
    if (type === 'strings' || type === 'numbers') return [name, decodeList(query.getAll(name), type)] as const;
    return [name, decodeOption(query.get(name), type)] as const;
  });
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}

/** Decodes a repeated option. Throws the 400 of Convert_Slice_string_To_Slice_int32. */
function decodeList(texts: readonly string[], type: 'strings' | 'numbers'): readonly string[] | undefined {
  if (texts.length === 0) return undefined;
  if (type === 'strings') return texts;
  return texts
    .flatMap((text) => text.split(','))
    .map((text) => {
      const refuse = (why: string): Error =>
        badRequest(`cannot convert to []int32: strconv.ParseUint: parsing ${goQuote(text)}: ${why}`);
      if (!/^[0-9]+$/.test(text)) throw refuse('invalid syntax');
      if ((parseInt64(text) ?? maxInt64) > maxUint16) throw refuse('value out of range');
      return String(Number(text));
    });
}

function decodeOption(
  text: string | null,
  type: Exclude<QueryOptionTypes[string], 'strings' | 'numbers'>,
): QueryOptions[string] {
  switch (type) {
    case 'string':
      return text ?? undefined;
    case 'boolean':
      return decodeBoolean(text);
    case 'integer':
      return decodeInteger(text);
    case 'time':
      return decodeTime(text);
  }
}

/** Returns the time in its canonical form. Throws the 400 of time.Parse. */
function decodeTime(text: string | null): string | undefined {
  if (text === null || text === '' || text === 'null') return undefined;
  try {
    return canonicalTime(text, 'seconds');
  } catch (error) {
    if (error instanceof GoTimeError) throw badRequest(error.message);
    throw error;
  }
}
