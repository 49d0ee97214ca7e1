// Determines the address at which the server is reached and the hosts that its certificate covers, from the address to listen on and the
// one to advertise. Used by control-plane.ts.
import { networkInterfaces } from 'node:os';

export interface ServerAddress {
  /** Default 127.0.0.1. */
  readonly bindAddress?: string | undefined;
  readonly advertiseAddress?: string | undefined;
}

/** Wildcard addresses, which clients cannot connect to, and the loopback address that each includes. */
const everyAddress: ReadonlyMap<string, string> = new Map([
  ['0.0.0.0', '127.0.0.1'],
  ['::', '::1'],
]);

/**
 * Returns the URL with a host to which clients can connect: for "https://0.0.0.0:6443" the advertised address, otherwise loopback.
 */
export function reachableUrl(url: string, { bindAddress = '', advertiseAddress }: ServerAddress): string {
  const loopback = everyAddress.get(bindAddress);
  if (loopback === undefined) return url;
  const host = advertiseAddress ?? loopback;
  const { protocol, port } = new URL(url);
  return `${protocol}//${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** Returns the names and addresses for the serving certificate: with a wildcard address, all addresses of this machine. */
export function certificateHosts({ bindAddress, advertiseAddress }: ServerAddress): readonly string[] {
  const listened = bindAddress !== undefined && everyAddress.has(bindAddress) ? localAddresses() : [bindAddress];
  return [...listened, advertiseAddress].filter((host) => host !== undefined);
}

/** Leaves out link-local addresses, which mean nothing without the name of an interface. */
function localAddresses(): readonly string[] {
  return Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .map(({ address }) => address)
    .filter((address) => !/^fe80:/i.test(address));
}
