// HostPolicy decides whom a listener of the inspector answers. A page of another site can make a browser send requests here under a name
// that its owner points at 127.0.0.1 (DNS rebinding), so the Host header has to be a name that nobody can point elsewhere.
import { isIP } from 'node:net';

const loopbackNames: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

export interface HostPolicy {
  /** The address that was asked for explicitly; undefined = loopback alone. */
  readonly host: string | undefined;
}

/** Returns why a request with this Host header is refused; undefined = it is not. */
export function hostProblem(header: string | undefined, { host }: HostPolicy): string | undefined {
  const name = nameOf(header ?? '');
  if (loopbackNames.has(name)) return undefined;
  const own = host === undefined ? undefined : bracketed(host.toLowerCase());
  // An address cannot be pointed elsewhere. It is answered where somebody asked for more than loopback.
  if (own !== undefined && (name === own || isIP(name.replace(/^\[|\]$/g, '')) !== 0)) return undefined;
  return 'the inspector answers to localhost and 127.0.0.1 alone: a Host header with another name is refused';
}

/** True for an address of the loopback interface, as a socket names it. */
export function isLoopback(address: string | undefined): boolean {
  if (address === undefined) return false;
  return address === '::1' || /^(?:::ffff:)?127\./.test(address);
}

/** Headers that a proxy adds to what it hands on. */
const proxyHeader = /^(?:forwarded|via|x-real-ip|x-forwarded-.*|x-envoy-.*)$/;

/**
 * Returns why a request that a proxy has handed on is refused; undefined = it is not. A proxy on this machine is as near as its user, but those
 * behind it are not. One that adds no header cannot be told from a user. Where more than loopback was asked for, a proxy is no matter.
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
