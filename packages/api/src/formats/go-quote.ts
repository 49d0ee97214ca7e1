// goQuote quotes users' texts in messages as Go does. Used by status-error.ts, field-error.ts and the server.

const shortEscapes: ReadonlyMap<string, string> = new Map([
  ['\x07', '\\a'],
  ['\b', '\\b'],
  ['\f', '\\f'],
  ['\n', '\\n'],
  ['\r', '\\r'],
  ['\t', '\\t'],
  ['\v', '\\v'],
]);

/**
 * Quotes like Go's %q: characters that cannot be printed are escaped, which are more than JSON escapes, and in another
 * form. Source: strconv.Quote.
 */
export function goQuote(text: string): string {
  return `"${text.replace(/["\\]/g, '\\$&').replace(/(?! )[\p{C}\p{Z}]/gu, escaped)}"`;
}

function escaped(char: string): string {
  const short = shortEscapes.get(char);
  if (short !== undefined) return short;
  const code = char.codePointAt(0) ?? 0;
  if (isEscapedByte(code)) return `\\x${(code - byteBase).toString(16)}`;
  const hex = code.toString(16);
  if (code < 0x80) return `\\x${hex.padStart(2, '0')}`;
  return code < 0x1_00_00 ? `\\u${hex.padStart(4, '0')}` : `\\U${hex.padStart(8, '0')}`;
}

/**
 * A byte of a URL that is not UTF-8 is kept as a lone surrogate, so that messages can show it: U+DC80 for 0x80 and so
 * on.
 */
const byteBase = 0xdc00;

function isEscapedByte(code: number): boolean {
  return code >= byteBase + 0x80 && code <= byteBase + 0xff;
}

/** Returns the surrogate for a byte that is not UTF-8; see {@link withoutEscapedBytes}. */
export function escapeByte(byte: number): string {
  return String.fromCharCode(byteBase + byte);
}

/** Returns the text as Go's encoding/json shows it: U+FFFD for each byte that is not UTF-8. */
export function withoutEscapedBytes(text: string): string {
  return text.replace(/\p{Surrogate}+/gu, (run) => '\ufffd'.repeat(run.length));
}
