// Values of the query as the conversion of Go's url.Values reads them. Used by every parser of options.
import { newBadRequest } from '@kapstan/api';

const maxInt64 = 9_223_372_036_854_775_807n;
const minInt64 = -9_223_372_036_854_775_808n;

/** Absent gives undefined; "false" (any case) and "0" give false; all else, also "", gives true. */
export function decodeBoolean(text: string | null): boolean | undefined {
  if (text === null) return undefined;
  return !(text.toLowerCase() === 'false' || text === '0');
}

/** A base-10 int64. Throws the 400 of strconv.ParseInt. Values beyond 2^53 are cut to it. */
export function decodeInteger(text: string | null): number | undefined {
  if (text === null) return undefined;
  if (!/^[+-]?[0-9]+$/.test(text)) throw newBadRequest(`strconv.ParseInt: parsing ${goQuote(text)}: invalid syntax`);
  const value = BigInt(text.replace(/^\+/, ''));
  if (value > maxInt64 || value < minInt64) {
    throw newBadRequest(`strconv.ParseInt: parsing ${goQuote(text)}: value out of range`);
  }
  const clamped = Math.min(Math.max(Number(value), Number.MIN_SAFE_INTEGER), Number.MAX_SAFE_INTEGER);
  return clamped;
}

function goQuote(text: string): string {
  return JSON.stringify(text);
}
