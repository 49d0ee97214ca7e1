// Parses 64-bit integers as Go does. Used wherever a client sends digits.
const maxInt64 = 9_223_372_036_854_775_807n;

/** Parses like strconv.ParseInt(text, 10, 64); undefined when the text is not an integer or does not fit 64 bits. */
export function parseInt64(text: string): bigint | undefined {
  const value = readDecimal(text);
  return value === undefined || value > maxInt64 || value < -maxInt64 - 1n ? undefined : value;
}

/** Digits of the largest uint64. */
const mostDigits = 20;

/**
 * Reads decimal digits with an optional sign. Returns undefined for any other text, and for a number that has more digits than any of 64 bits,
 * leading zeros apart: BigInt takes a second for millions of digits.
 */
export function readDecimal(text: string): bigint | undefined {
  if (!/^[+-]?[0-9]+$/.test(text)) return undefined;
  const isNegative = text.startsWith('-');
  let start = isNegative || text.startsWith('+') ? 1 : 0;
  while (start < text.length - 1 && text.charCodeAt(start) === zero) start++;
  if (text.length - start > mostDigits) return undefined;
  const value = BigInt(text.slice(start));
  return isNegative ? -value : value;
}

const zero = 0x30;
