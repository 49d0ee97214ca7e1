// Addresses to which a request may be passed on: not to the server itself, its neighbours on the link, or to many at once.
// Source: net.IP.IsGlobalUnicast of Go, as pods/proxy and nodes/proxy ask it.
import { BlockList, isIP, isIPv4 } from 'node:net';
import { badRequest } from '@kapstan/api/errors';
import type { BuiltinServer } from '../../builtin/builtin-kind.ts';

const refused = new BlockList();
refused.addSubnet('127.0.0.0', 8);
refused.addSubnet('169.254.0.0', 16);
refused.addSubnet('224.0.0.0', 4);
refused.addAddress('0.0.0.0');
refused.addAddress('255.255.255.255');
refused.addAddress('::', 'ipv6');
refused.addAddress('::1', 'ipv6');
refused.addSubnet('fe80::', 10, 'ipv6');
refused.addSubnet('ff00::', 8, 'ipv6');

const notAllowed = 'address not allowed';

/** Throws 400 for what is no address, or none of a single machine elsewhere. */
export function requireReachableAddress(address: string): void {
  const isReachable = isIP(address) !== 0 && !refused.check(address, isIPv4(address) ? 'ipv4' : 'ipv6');
  if (!isReachable) throw badRequest(notAllowed);
}

/** The same for all that a host's name stands for. Rejects with 400 for one that cannot be looked up, too. */
export async function requireReachableHost(server: Pick<BuiltinServer, 'lookupHost'>, host: string): Promise<void> {
  if (isIP(host) !== 0) return requireReachableAddress(host);
  const addresses = await server.lookupHost(host).catch((error: NodeJS.ErrnoException) => {
    throw badRequest(`lookup ${host}: ${error.code === 'ENOTFOUND' ? 'no such host' : error.message}`);
  });
  if (addresses.length === 0) throw badRequest('no addresses for hostname');
  for (const address of addresses) requireReachableAddress(address);
}
