// The URL of a request as Go's net/url reads it, which decides what kube-apiserver sees of it. Used by exchange.ts and
// http-server.ts.

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

/** What is no UTF-8 is taken as it is and found nowhere. */
function decodePath(path: string): string {
  if (!path.includes('%')) return path;
  try {
    return decodeURIComponent(path);
  } catch (error) {
    if (error instanceof URIError) return path;
    throw error;
  }
}
