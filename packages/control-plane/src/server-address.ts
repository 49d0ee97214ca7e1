// Where the server is reached, and what its certificate has to be for: from the address to listen on and the one to advertise.
// Used by control-plane.ts.
import { networkInterfaces } from 'node:os';

export interface ServerAddress {
  /** Default 127.0.0.1. */
  readonly bindAddress?: string;
  readonly advertiseAddress?: string;
}

/** Addresses to listen on under which nobody is reached, and the loopback that they include. */
const everyAddress: ReadonlyMap<string, string> = new Map([
  ['0.0.0.0', '127.0.0.1'],
  ['::', '::1'],
]);

/** The url with a host in it that can be connected to: "https://0.0.0.0:6443" → that of the advertised address or loopback. */
export function reachableUrl(url: string, { bindAddress = '', advertiseAddress }: ServerAddress): string {
  const loopback = everyAddress.get(bindAddress);
  if (loopback === undefined) return url;
  const host = advertiseAddress ?? loopback;
  const { protocol, port } = new URL(url);
  return `${protocol}//${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** Names and addresses for the serving certificate; all of this machine where all are listened on. */
export function certificateHosts({ bindAddress, advertiseAddress }: ServerAddress): readonly string[] {
  const listened = bindAddress !== undefined && everyAddress.has(bindAddress) ? localAddresses() : [bindAddress];
  return [...listened, advertiseAddress].filter((host) => host !== undefined);
}

/** Without those that are good on one link only: they mean nothing without the name of an interface. */
function localAddresses(): readonly string[] {
  return Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .map(({ address }) => address)
    .filter((address) => !/^fe80:/i.test(address));
}
