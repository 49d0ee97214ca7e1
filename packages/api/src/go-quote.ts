// goQuote: texts of users in messages, spelled as Go spells them. Used by status-error.ts, field-error.ts and the server.

const shortEscapes: ReadonlyMap<string, string> = new Map([
  ['\x07', '\\a'],
  ['\b', '\\b'],
  ['\f', '\\f'],
  ['\n', '\\n'],
  ['\r', '\\r'],
  ['\t', '\\t'],
  ['\v', '\\v'],
]);

/** As Go's %q: what cannot be printed is escaped, which is more than JSON escapes, and otherwise. Source: strconv.Quote. */
export function goQuote(text: string): string {
  return `"${text.replace(/["\\]/g, '\\$&').replace(/(?! )[\p{C}\p{Z}]/gu, escaped)}"`;
}

function escaped(char: string): string {
  const short = shortEscapes.get(char);
  if (short !== undefined) return short;
  const code = char.codePointAt(0) ?? 0;
  const hex = code.toString(16);
  if (code < 0x80) return `\\x${hex.padStart(2, '0')}`;
  return code < 0x1_00_00 ? `\\u${hex.padStart(4, '0')}` : `\\U${hex.padStart(8, '0')}`;
}
