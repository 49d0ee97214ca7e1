// HostPolicy decides which requests a listener of the inspector answers. A page of another site can make a browser send requests here under
// a name that its owner points at 127.0.0.1 (DNS rebinding), so the Host header must be a name that nobody can redirect.
import { isIP } from 'node:net';

const loopbackNames: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

export interface HostPolicy {
  /** The explicitly requested address; undefined = only loopback. */
  readonly host: string | undefined;
}

/** Returns the reason why a request with this Host header is refused; undefined = it is not. */
export function hostProblem(header: string | undefined, { host }: HostPolicy): string | undefined {
  const name = nameOf(header ?? '');
  if (loopbackNames.has(name)) return undefined;
  const own = host === undefined ? undefined : bracketed(host.toLowerCase());
  // An address cannot be redirected. It is accepted if more than loopback was requested.
  if (own !== undefined && (name === own || isIP(name.replace(/^\[|\]$/g, '')) !== 0)) return undefined;
  return 'the inspector answers to localhost and 127.0.0.1 alone: a Host header with another name is refused';
}

/** True for an address of the loopback interface, as a socket names it. */
export function isLoopback(address: string | undefined): boolean {
  if (address === undefined) return false;
  return address === '::1' || /^(?:::ffff:)?127\./.test(address);
}

/** Headers that a proxy adds to requests that it passes on. */
const proxyHeader = /^(?:forwarded|via|x-real-ip|x-forwarded-.*|x-envoy-.*)$/;

/**
 * Returns the reason to refuse a request that a proxy has passed on; undefined = it is not refused. A proxy on this machine is local, but
 * its clients may not be. A proxy that adds no header cannot be detected. If more than loopback was requested, proxies are allowed.
 */
export function proxyProblem(headers: Readonly<Record<string, unknown>>, { host }: HostPolicy): string | undefined {
  if (host !== undefined && host !== 'localhost' && !isLoopback(host)) return undefined;
  const header = Object.keys(headers).find((name) => proxyHeader.test(name));
  return header && `the inspector answers this machine alone: a request from a proxy (header ${header}) is refused`;
}

/** Returns the host of "host", "host:port" or "[address]:port" in lower case. */
function nameOf(header: string): string {
  return (/^(\[[^\]]*\]|[^:]*)(?::\d+)?$/.exec(header)?.[1] ?? '').toLowerCase();
}

function bracketed(host: string): string {
  return isIP(host) === 6 ? `[${host}]` : host;
}
