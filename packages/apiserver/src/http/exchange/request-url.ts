// Reads the URL of a request as Go's net/url does, so that handlers see the same as kube-apiserver's. Used by
// exchange.ts, api-server.ts, request-refusal.ts and websocket-watch.ts.

import { escapedByteCode } from '@kapstan/api/internal';

export interface RequestUrl {
  /** The decoded path, without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** The query as it was sent, for texts that quote it. */
  readonly rawQuery: string;
}

const badEscape = /%(?![0-9a-f]{2})/i;

/** True when a percent sign in the path begins no escape: Go's server answers 400 before any handler. */
export function hasMalformedPath(url: string): boolean {
  return url.includes('%') && badEscape.test(pathOf(url));
}

export function parseRequestUrl(url: string): RequestUrl {
  const target = withoutOrigin(url);
  const rawPath = pathOf(target);
  const rawQuery = target.slice(rawPath.length + 1);
  return { path: decodePath(rawPath), rawQuery, query: new URLSearchParams(readableParts(rawQuery)) };
}

/** A client of a proxy may send the whole URL. Its scheme and host are ignored. */
function withoutOrigin(url: string): string {
  return url.startsWith('/') ? url : url.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?]*/i, '');
}

function pathOf(url: string): string {
  const at = url.indexOf('?');
  return at < 0 ? url : url.slice(0, at);
}

/** Parts that cannot be unescaped or hold a semicolon are dropped, as url.ParseQuery does when its error is ignored. */
function readableParts(query: string): string {
  if (!query.includes(';') && !badEscape.test(query)) return query;
  const parts = query.split('&').filter((part) => !part.includes(';') && !badEscape.test(part));
  return parts.join('&');
}

/** Bytes that are not UTF-8 are kept, as in Go: no object has such a name, and the answer can quote it. */
function decodePath(path: string): string {
  if (!path.includes('%')) return path;
  try {
    return decodeURIComponent(path);
  } catch (error) {
    if (error instanceof URIError) return decodeParts(path);
    throw error;
  }
}

const percent = 0x25;

/** Works on bytes: a path may be 300,000 escapes. */
function decodeParts(path: string): string {
  const bytes = Buffer.from(path);
  let count = 0;
  for (let i = 0; i < bytes.length; i++) {
    const isEscape = bytes[i] === percent;
    bytes[count++] = isEscape ? 16 * hexDigit(bytes[i + 1]) + hexDigit(bytes[i + 2]) : (bytes[i] ?? 0);
    if (isEscape) i += 2;
  }
  return textOf(bytes.subarray(0, count));
}

/** The caller has refused paths with other characters after a percent sign. */
function hexDigit(byte = 0x30): number {
  return byte < 0x3a ? byte - 0x30 : (byte | 0x20) - 0x57;
}

/** Fills a typed array, because strings that grow by a letter take ten times as long. */
function textOf(bytes: Buffer): string {
  const units = new Uint16Array(bytes.length);
  let length = 0;
  for (let i = 0; i < bytes.length; ) {
    const byte = bytes[i] ?? 0;
    const size = byte < 0x80 ? 1 : characterSize(bytes, i);
    const code = size === 0 ? escapedByteCode(byte) : size === 1 ? byte : codePointOf(bytes, i, size);
    if (code < 0x1_00_00) units[length++] = code;
    else {
      units[length++] = 0xd7c0 + (code >> 10);
      units[length++] = 0xdc00 + (code & 0x3ff);
    }
    i += size === 0 ? 1 : size;
  }
  return Buffer.from(units.buffer, 0, 2 * length).toString('utf16le');
}

/** Limits of a second byte where they are narrower: no longer form than needed, no surrogates, nothing beyond Unicode. */
const lowestSecond: ReadonlyMap<number, number> = new Map([
  [0xe0, 0xa0],
  [0xf0, 0x90],
]);
const highestSecond: ReadonlyMap<number, number> = new Map([
  [0xed, 0x9f],
  [0xf4, 0x8f],
]);

/** Returns the number of bytes of a character beyond ASCII; 0 when the byte begins none. */
function characterSize(bytes: Buffer, at: number): number {
  const first = bytes[at] ?? 0;
  const size = sizeAfter(first);
  if (size === 0) return 0;
  const second = bytes[at + 1] ?? 0;
  if (second < (lowestSecond.get(first) ?? 0x80) || second > (highestSecond.get(first) ?? 0xbf)) return 0;
  for (let i = 2; i < size; i++) if (((bytes[at + i] ?? 0) & 0xc0) !== 0x80) return 0;
  return size;
}

function sizeAfter(first: number): number {
  if (first < 0xc2 || first > 0xf4) return 0;
  if (first < 0xe0) return 2;
  return first < 0xf0 ? 3 : 4;
}

function codePointOf(bytes: Buffer, at: number, size: number): number {
  let code = (bytes[at] ?? 0) & (0xff >> (size + 1));
  for (let i = 1; i < size; i++) code = (code << 6) | ((bytes[at + i] ?? 0) & 0x3f);
  return code;
}
