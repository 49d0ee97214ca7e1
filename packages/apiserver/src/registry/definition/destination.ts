// Destination: where and how a request is passed on, for example to a node's kubelet, a pod or an endpoint of a
// service. Subresources of kinds find it (kubernetes/src/core); http/tunnel/tunnel-transport.ts connects to it.

export interface Destination {
  readonly scheme: 'http' | 'https';
  /** A name or an address without brackets. */
  readonly host: string;
  readonly port: number;
  /** The decoded path. "" = the root, requested without its slash. */
  readonly path: string;
  /** The query as sent, without "?". Absent = the request's query. */
  readonly query?: string;
  /**
   * How the peer proves its identity. 'kubelet': by the server's options, and this server presents its certificate;
   * 'unverified-kubelet': any certificate is accepted, and this server presents its own; 'anyone': any certificate is
   * accepted, and none is presented.
   */
  readonly peer: 'kubelet' | 'unverified-kubelet' | 'anyone';
}

/** A destination for requests of clients, and how they are passed on. */
export interface Connection extends Destination {
  /**
   * 'required': requests that are not upgrades are refused. 'optional': they are passed on, and links in the answer are
   * rewritten.
   */
  readonly upgrade: 'required' | 'optional';
}

/** Returns, for example, "https://[::1]:10250/exec/ns/pod", with the port as requested. */
export function formatDestination({ scheme, host, port, path, query }: Destination): string {
  const suffix = query === undefined || query === '' ? '' : `?${query}`;
  return `${scheme}://${formatHostPort(host, port)}${escapePath(path)}${suffix}`;
}

export function formatHostPort(host: string, port: number): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

/** Escapes a path as Go's net/url does (encodePath). */
export function escapePath(path: string): string {
  return encodeURIComponent(wellFormed(path))
    .replace(/%(?:24|26|2B|2C|2F|3A|3B|3D|40)/g, decodeURIComponent)
    .replace(/[!'()*]/g, percentEncoded);
}

/** Returns a query as Go's url.Values writes it: sorted by name, spaces as "+". Absent values are left out. */
export function formatQuery(values: readonly (readonly [name: string, value: string | undefined])[]): string {
  const encode = (text: string): string =>
    encodeURIComponent(wellFormed(text))
      .replace(/[!'()*]/g, percentEncoded)
      .replaceAll('%20', '+');
  return values
    .filter(([, value]) => value !== undefined)
    .toSorted(([a], [b]) => (a < b ? -1 : Number(a > b)))
    .map(([name, value = '']) => `${encode(name)}=${encode(value)}`)
    .join('&');
}

function percentEncoded(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase()}`;
}

export interface NamedPort {
  readonly scheme: 'http' | 'https';
  readonly name: string;
  /** "" = no port was given. */
  readonly port: string;
}

/**
 * Parses "name", "name:port" or "scheme:name:port". Returns undefined for anything else. Source: apimachinery
 * SplitSchemeNamePort.
 */
export function parseNamedPort(id: string): NamedPort | undefined {
  const parts = id.split(':');
  const [first = '', second = '', third = ''] = parts;
  const [scheme, name, port] = parts.length === 3 ? [first, second, third] : ['', first, second];
  if (parts.length > 3 || name === '' || !['', 'http', 'https'].includes(scheme)) return undefined;
  return { scheme: scheme === 'https' ? 'https' : 'http', name, port };
}

/** Returns a valid port number; undefined for anything else. */
export function parsePort(text: string): number | undefined {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  return port > 0 && port <= 65_535 ? port : undefined;
}

/** Replaces lone surrogates, which have no bytes in UTF-8. */
function wellFormed(text: string): string {
  return Buffer.from(text).toString();
}
