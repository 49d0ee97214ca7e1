// Reads the URL of a request as Go's net/url does, so that handlers see the same as kube-apiserver's. Used by
// exchange.ts and http-server.ts.

import { escapeByte } from '@kapstan/api/internal';

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

const escapes = /(?:%[0-9a-f]{2})+/gi;
/** Matches one UTF-8 character beyond ASCII, or one byte that begins none. */
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
