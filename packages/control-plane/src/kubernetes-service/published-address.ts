// Finds the address at which others in the cluster reach this server: the advertised one, or else the one it listens on, or else one of
// this machine. Used by announcement.ts. Source: apiserver server/options (DefaultAdvertiseAddress), apimachinery
// net.ChooseHostInterface.
import { isIPv4 } from 'node:net';
import { networkInterfaces } from 'node:os';
import { isIpv6 } from '@kapstan/kubernetes';
import type { ServerAddress } from '../server-identity/server-address.ts';

/** Loopback, wildcard and link-local addresses, which endpoints must not contain: others cannot reach the server there. */
const unpublishable = /^(?:127\.|0\.0\.0\.0$|169\.254\.|::1?$|fe[89ab])/i;

/** Returns undefined when no address can be used by others. */
export function publishedAddress(
  { advertiseAddress = '', bindAddress = '127.0.0.1' }: ServerAddress,
  interfaces: ReturnType<typeof networkInterfaces> = networkInterfaces(),
): string | undefined {
  const own = Object.values(interfaces).flatMap((addresses) => addresses ?? []);
  const ofFamily = (family: string): string[] =>
    own.filter((address) => address.family === family && !address.internal).map(({ address }) => address);
  const candidates = [advertiseAddress, bindAddress, ...ofFamily('IPv4'), ...ofFamily('IPv6')];
  const isAddress = (text: string): boolean => isIPv4(text) || isIpv6(text);
  return candidates.find((address) => isAddress(address) && !unpublishable.test(address));
}
