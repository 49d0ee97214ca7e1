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
  const marked = text.replace(/["\\]/g, '\\$&').replace(controlsAndBytes, escapedRun);
  return `"${marked.replace(unprintable, escaped)}"`;
}

/** Looking up Unicode's categories takes long, so it is done only beyond ASCII. */
const unprintable = /(?![\0-\x7f])[\p{C}\p{Z}]/gu;

function escaped(char: string): string {
  const code = char.codePointAt(0) ?? 0;
  const hex = code.toString(16);
  return code < 0x1_00_00 ? `\\u${hex.padStart(4, '0')}` : `\\U${hex.padStart(8, '0')}`;
}

/**
 * A byte of a URL that is not UTF-8 is kept as a lone surrogate, so that messages can show it: U+DC80 for 0x80 and so
 * on.
 */
const byteBase = 0xdc00;
/** Matches a run of such bytes and of ASCII's controls. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is escaped.
const controlsAndBytes = /(?:[\0-\x1f\x7f]|(?<![\ud800-\udbff])[\udc80-\udcff])+/g;

/** Works on a run: a path may have 300,000 such bytes, and a call from the search for each takes too long. */
function escapedRun(run: string): string {
  const escapes: string[] = [];
  for (let i = 0; i < run.length; i++) escapes.push(byteEscapes[run.charCodeAt(i) & 0xff] ?? '');
  return escapes.join('');
}

const byteEscapes: readonly string[] = Array.from({ length: 0x100 }, (_, byte) => escapedByte(byte));

function escapedByte(byte: number): string {
  return shortEscapes.get(String.fromCharCode(byte)) ?? `\\x${byte.toString(16).padStart(2, '0')}`;
}

/** Returns the code of the surrogate for a byte that is not UTF-8; see {@link withoutEscapedBytes}. */
export function escapedByteCode(byte: number): number {
  return byteBase + byte;
}

/** Returns the text as Go's encoding/json shows it: U+FFFD for each byte that is not UTF-8. */
export function withoutEscapedBytes(text: string): string {
  return text.toWellFormed();
}
