// Destination: where a request is to be led on to, and how: to a node's kubelet, a pod, an endpoint of a service. Found by
// the subresources of registry/core, reached by http/tunnel/tunnel-transport.ts.

export interface Destination {
  readonly scheme: 'http' | 'https';
  /** Name or address, without brackets. */
  readonly host: string;
  readonly port: number;
  /** Decoded. "" = the root, asked for without its slash. */
  readonly path: string;
  /** As it goes out, without "?". Absent = that of the request. */
  readonly query?: string;
  /**
   * Whose certificate counts: 'kubelet' = as the options of the server say, which shows its own; 'unverified-kubelet' = any, but
   * shows its own; 'anyone' = any, and shows none.
   */
  readonly peer: 'kubelet' | 'unverified-kubelet' | 'anyone';
}

/** A destination of requests of clients, and what is done on the way. */
export interface Connection extends Destination {
  /** 'required': what is no upgrade is refused. 'optional': what is none is passed on as it is, with its answer's links mended. */
  readonly upgrade: 'required' | 'optional';
}

/** "https://[::1]:10250/exec/ns/pod", with the port as it was asked for. */
export function formatDestination({ scheme, host, port, path, query }: Destination): string {
  const suffix = query === undefined || query === '' ? '' : `?${query}`;
  return `${scheme}://${formatHostPort(host, port)}${escapePath(path)}${suffix}`;
}

export function formatHostPort(host: string, port: number): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

/** Source: net/url of Go, escape of an encodePath. */
export function escapePath(path: string): string {
  return encodeURIComponent(wellFormed(path))
    .replace(/%(?:24|26|2B|2C|2F|3A|3B|3D|40)/g, decodeURIComponent)
    .replace(/[!'()*]/g, percentEncoded);
}

/** A query as url.Values of Go writes it: sorted by name, spaces as "+". Absent values are left out. */
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
  /** "" = none was given. */
  readonly port: string;
}

/** "name", "name:port" or "scheme:name:port". Undefined for anything else. Source: apimachinery SplitSchemeNamePort. */
export function parseNamedPort(id: string): NamedPort | undefined {
  const parts = id.split(':');
  const [first = '', second = '', third = ''] = parts;
  const [scheme, name, port] = parts.length === 3 ? [first, second, third] : ['', first, second];
  if (parts.length > 3 || name === '' || !['', 'http', 'https'].includes(scheme)) return undefined;
  return { scheme: scheme === 'https' ? 'https' : 'http', name, port };
}

/** A number of a port; undefined for anything else. */
export function parsePort(text: string): number | undefined {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  return port > 0 && port <= 65_535 ? port : undefined;
}

/** Half of a surrogate pair stands for no bytes. */
function wellFormed(text: string): string {
  return Buffer.from(text).toString();
}
