// Checks that a request may be passed on to an address, which must not be the server itself, link-local or multicast.
// Used by pods/proxy and nodes/proxy. Source: net.IP.IsGlobalUnicast of Go.
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

/** Throws 400 for text that is not an address, and for an address that does not belong to a single other machine. */
export function requireReachableAddress(address: string): void {
  const isReachable = isIP(address) !== 0 && !refused.check(address, isIPv4(address) ? 'ipv4' : 'ipv6');
  if (!isReachable) throw badRequest(notAllowed);
}

/** Checks all addresses of a host. Rejects with 400 also when the host cannot be looked up. */
export async function requireReachableHost(server: Pick<BuiltinServer, 'lookupHost'>, host: string): Promise<void> {
  if (isIP(host) !== 0) return requireReachableAddress(host);
  const addresses = await server.lookupHost(host).catch((error: NodeJS.ErrnoException) => {
    throw badRequest(`lookup ${host}: ${error.code === 'ENOTFOUND' ? 'no such host' : error.message}`);
  });
  if (addresses.length === 0) throw badRequest('no addresses for hostname');
  for (const address of addresses) requireReachableAddress(address);
}
