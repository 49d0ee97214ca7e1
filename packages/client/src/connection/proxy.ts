// Chooses the proxy for a cluster: the kubeconfig's proxy-url, or else the environment, read as Go's net/http reads it.
import { BlockList, isIP } from 'node:net';

const schemes: readonly string[] = ['http:', 'https:', 'socks5:'];

export type Environment = Readonly<Record<string, string | undefined>>;

/** Returns the proxy for a server's URL by HTTP_PROXY, HTTPS_PROXY and NO_PROXY; undefined = none. Loopback is never proxied. */
export function proxyFromEnvironment(server: URL, env: Environment): string | undefined {
  const scheme = server.protocol === 'https:' ? 'https_proxy' : 'http_proxy';
  const proxy = env[scheme.toUpperCase()] || env[scheme];
  if (!proxy || isOnThisMachine(server)) return undefined;
  if (isExcluded(server, env.NO_PROXY || env.no_proxy || '')) return undefined;
  return proxy.includes('://') ? proxy : `http://${proxy}`;
}

/** Checks a proxy-url. Throws TypeError unless its scheme is http, https or socks5. */
export function checkProxyUrl(proxyUrl: string): string {
  const url = URL.canParse(proxyUrl) ? new URL(proxyUrl) : undefined;
  if (url !== undefined && schemes.includes(url.protocol) && url.hostname !== '') return proxyUrl;
  const shown = url === undefined ? 'is not a URL' : `has the unsupported scheme "${url.protocol.slice(0, -1)}"`;
  throw new TypeError(`proxy-url ${shown}, must be http, https, or socks5`);
}

export function isSocks(proxyUrl: string): boolean {
  return /^socks5:/i.test(proxyUrl);
}

/** Returns whether the server's URL names this machine. Names other than "localhost" are not looked up. */
export function isOnThisMachine(server: URL): boolean {
  return isLoopback(hostOf(server));
}

function hostOf(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, '$1').toLowerCase();
}

const loopback: BlockList = loopbackAddresses();

function loopbackAddresses(): BlockList {
  const addresses = new BlockList();
  addresses.addSubnet('127.0.0.0', 8);
  addresses.addAddress('::1', 'ipv6');
  return addresses;
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || isIn(loopback, host);
}

/** Compares addresses, not texts; an IPv4 address mapped into IPv6 is the same address. */
function isIn(list: BlockList, host: string): boolean {
  return isIP(host) !== 0 && list.check(host, isIP(host) === 4 ? 'ipv4' : 'ipv6');
}

function isExcluded(server: URL, noProxy: string): boolean {
  const host = hostOf(server);
  const port = server.port || (server.protocol === 'https:' ? '443' : '80');
  const entries = noProxy.toLowerCase().split(',');
  return entries.some((entry) => excludes(entry.trim(), host, port));
}

function excludes(entry: string, host: string, port: string): boolean {
  if (entry === '') return false;
  if (entry === '*') return true;
  if (entry.includes('/')) return containsAddress(entry, host);
  const [name, entryPort] = splitHostPort(entry);
  if (name === '' || (entryPort !== '' && entryPort !== port)) return false;
  if (isIP(name) !== 0) return containsAddress(`${name}/${isIP(name) === 4 ? 32 : 128}`, host);
  const domain = name.replace(/^\*?\./, '');
  const isSubdomainOnly = name !== domain;
  return host.endsWith(`.${domain}`) || (!isSubdomainOnly && host === domain);
}

/** An entry without a port, or in neither form, is used unchanged as a host. Source: Go net.SplitHostPort. */
function splitHostPort(entry: string): readonly [host: string, port: string] {
  const [, inBrackets, plain = entry, port = ''] = /^(?:\[([^\]]*)\]|([^:[\]]*)):([^:]*)$/.exec(entry) ?? [];
  return [inBrackets ?? plain, port];
}

function containsAddress(cidr: string, host: string): boolean {
  const [network = '', bits = ''] = cidr.split('/');
  const family = isIP(network);
  if (family === 0 || !/^\d+$/.test(bits) || Number(bits) > (family === 4 ? 32 : 128)) return false;
  const list = new BlockList();
  list.addSubnet(network, Number(bits), family === 4 ? 'ipv4' : 'ipv6');
  return isIn(list, host);
}
