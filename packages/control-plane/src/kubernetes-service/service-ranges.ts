// Decides which addresses services may have, according to ServiceCIDRs. Used by service-address-repair.ts. Source: pkg/api/servicecidr
// ContainsIP.
import { BlockList } from 'node:net';
import type { DeepReadonly } from '@kapstan/api';
import type { ServiceCIDR } from '@kapstan/kinds/networking.k8s.io/v1';
import { isIpv6 } from '@kapstan/kubernetes';

/** The default range of service addresses. */
export const defaultServiceRange = '10.96.0.0/16';

/** `ownRange` counts while the ServiceCIDR "kubernetes" does not exist. */
export function isInServiceRange(
  address: string,
  serviceCidrs: readonly DeepReadonly<ServiceCIDR>[],
  ownRange: string,
): boolean {
  const isTold = serviceCidrs.some(({ metadata }) => metadata?.name === 'kubernetes');
  const cidrs = [...(isTold ? [] : [ownRange]), ...serviceCidrs.flatMap(({ spec }) => spec?.cidrs ?? [])];
  const family = isIpv6(address) ? 'ipv6' : 'ipv4';
  return cidrs.some((cidr) => {
    const [network = '', bits = ''] = cidr.split('/');
    if (isIpv6(network) !== isIpv6(address)) return false;
    const range = new BlockList();
    range.addSubnet(network, Number(bits), family);
    return range.check(address, family);
  });
}
