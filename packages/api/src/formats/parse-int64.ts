// Parses 64-bit integers as Go does. Used by label selectors and their requirements.
const maxInt64 = 9_223_372_036_854_775_807n;

/** Parses like strconv.ParseInt(text, 10, 64); undefined when the text is not an integer or does not fit 64 bits. */
export function parseInt64(text: string): bigint | undefined {
  if (!/^[+-]?[0-9]+$/.test(text)) return undefined;
  const value = BigInt(text.replace(/^\+/, ''));
  return value > maxInt64 || value < -maxInt64 - 1n ? undefined : value;
}
