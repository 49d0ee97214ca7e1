// Decodes string and bytes literals by removing quotes, raw prefixes and escapes. The lexer has checked their form.

const simple: ReadonlyMap<string, string> = new Map([
  ['a', '\x07'],
  ['b', '\b'],
  ['f', '\f'],
  ['n', '\n'],
  ['r', '\r'],
  ['t', '\t'],
  ['v', '\v'],
]);

const encoder = new TextEncoder();
const anyEscape = /\\(?:([xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})|([0-3][0-7]{2})|(.))/gs;

/** Returns the text of a string literal, or the error in its escapes. */
export function unescapeString(literal: string): { readonly value: string } | { readonly error: string } {
  const { body, isRaw } = unquote(literal);
  if (isRaw || !body.includes('\\')) return { value: body };
  let error: string | undefined;
  const value = body.replace(anyEscape, (...groups: unknown[]) => {
    const [, hex, octal, char] = groups as (string | undefined)[];
    if (char !== undefined) return simple.get(char) ?? char;
    const point = hex === undefined ? Number.parseInt(octal ?? '', 8) : Number.parseInt(hex.slice(1), 16);
    if (point <= 0x10ffff && (point < 0xd800 || point > 0xdfff)) return String.fromCodePoint(point);
    error = 'invalid unicode code point';
    return '';
  });
  return error === undefined ? { value } : { error };
}

/** Returns the bytes of a bytes literal, or the error in its escapes. Escapes with digits denote single bytes. */
export function unescapeBytes(literal: string): { readonly value: Uint8Array } | { readonly error: string } {
  const { body, isRaw } = unquote(literal.slice(1));
  if (isRaw || !body.includes('\\')) return { value: encoder.encode(body) };
  const bytes: number[] = [];
  let last = 0;
  for (const match of body.matchAll(anyEscape)) {
    appendText(bytes, body.slice(last, match.index));
    last = match.index + match[0].length;
    const [, hex, octal, char] = match;
    if (hex !== undefined && !/^x/i.test(hex)) return { error: 'unable to unescape string' };
    if (hex !== undefined) bytes.push(Number.parseInt(hex.slice(1), 16));
    else if (octal !== undefined) bytes.push(Number.parseInt(octal, 8));
    else appendText(bytes, simple.get(char ?? '') ?? char ?? '');
  }
  appendText(bytes, body.slice(last));
  return { value: Uint8Array.from(bytes) };
}

function appendText(bytes: number[], text: string): void {
  for (const byte of encoder.encode(text)) bytes.push(byte);
}

function unquote(literal: string): { readonly body: string; readonly isRaw: boolean } {
  const isRaw = /^[rR]/.test(literal);
  const text = (isRaw ? literal.slice(1) : literal).replaceAll('\r\n', '\n').replaceAll('\r', '\n');
  const quotes = text.length >= 6 && (text.startsWith('"""') || text.startsWith("'''")) ? 3 : 1;
  return { body: text.slice(quotes, text.length - quotes), isRaw };
}
