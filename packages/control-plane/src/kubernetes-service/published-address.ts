// The address under which others in the cluster reach this server: as it is told, else where it listens, else one of this
// machine. For kubernetes-service.ts. Source: apiserver server/options (DefaultAdvertiseAddress), apimachinery net.ChooseHostInterface.
import { isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import type { ServerAddress } from '../server-address.ts';

/** Where nobody else can come, or everybody at once: endpoints must not have such addresses. */
const unpublishable = /^(?:127\.|0\.0\.0\.0$|169\.254\.|::1?$|fe[89ab])/i;

/** Undefined when there is none that others could use. */
export function publishedAddress(
  { advertiseAddress = '', bindAddress = '127.0.0.1' }: ServerAddress,
  interfaces: ReturnType<typeof networkInterfaces> = networkInterfaces(),
): string | undefined {
  const own = Object.values(interfaces).flatMap((addresses) => addresses ?? []);
  const ofFamily = (family: string): string[] =>
    own.filter((address) => address.family === family && !address.internal).map(({ address }) => address);
  const candidates = [advertiseAddress, bindAddress, ...ofFamily('IPv4'), ...ofFamily('IPv6')];
  return candidates.find((address) => isIP(address) !== 0 && !unpublishable.test(address));
}
