// The URL of a request as Go's net/url reads it, which decides what kube-apiserver sees of it. Used by exchange.ts and
// http-server.ts.

import { escapeByte } from '@kapstan/api/internal';

export interface RequestUrl {
  /** Decoded, without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** The bytes of the query, for texts. */
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

/** A proxy may be asked by the whole URL: whose it is does not count. */
function withoutOrigin(url: string): string {
  return url.startsWith('/') ? url : url.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?]*/i, '');
}

function pathOf(url: string): string {
  const at = url.indexOf('?');
  return at < 0 ? url : url.slice(0, at);
}

/** Parts that cannot be unescaped or hold a semicolon do not count. Source: url.ParseQuery, whose error is passed over. */
function readableParts(query: string): string {
  if (!query.includes(';') && !badEscape.test(query)) return query;
  const parts = query.split('&').filter((part) => !part.includes(';') && !badEscape.test(part));
  return parts.join('&');
}

/** A byte that is no UTF-8 is kept, as Go keeps it: nothing has that name, and the answer can say which it was. */
function decodePath(path: string): string {
  if (!path.includes('%')) return path;
  try {
    return decodeURIComponent(path);
  } catch (error) {
    if (error instanceof URIError) return decodeParts(path);
    throw error;
  }
}

const escapes = /(?:%[0-9a-f]{2})+/gi;
/** One character of UTF-8 beyond ASCII, or one byte that begins none. */
const characters =
  /[\xc2-\xdf][\x80-\xbf]|\xe0[\xa0-\xbf][\x80-\xbf]|[\xe1-\xec\xee\xef][\x80-\xbf]{2}|\xed[\x80-\x9f][\x80-\xbf]|\xf0[\x90-\xbf][\x80-\xbf]{2}|[\xf1-\xf3][\x80-\xbf]{3}|\xf4[\x80-\x8f][\x80-\xbf]{2}|[\x80-\xff]/g;

function decodeParts(path: string): string {
  return path.replace(escapes, (run) => {
    const bytes = Buffer.from(run.replaceAll('%', ''), 'hex').toString('latin1');
    return bytes.replace(characters, (one) => {
      const byte = one.charCodeAt(0);
      return one.length === 1 && byte >= 0x80 ? escapeByte(byte) : Buffer.from(one, 'latin1').toString('utf8');
    });
  });
}
