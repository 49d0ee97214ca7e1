// Warnings about addresses and networks that are accepted but should be written differently. Source: apimachinery
// util/validation GetWarningsForIP, GetWarningsForCIDR.
import { isIpv6 } from './ip-family.ts';
import { canonicalIp } from './value-rules.ts';

/** `path` is the place in the object, such as "spec.externalIPs[0]". */
export function ipWarnings(path: string, text: string): string[] {
  if (!isIpv6(text) || text.includes('%')) return [];
  const canonical = canonicalIp(text);
  return canonical === text
    ? []
    : [
        `${path}: IPv6 address ${JSON.stringify(text)} should be in RFC 5952 canonical format (${JSON.stringify(canonical)})`,
      ];
}

/** `path` is the place in the object, such as "spec.podCIDRs[0]". */
export function cidrWarnings(path: string, text: string): string[] {
  const [address = '', length = ''] = text.split('/');
  if (!isIpv6(address) || address.includes('%')) return [];
  const canonical = `${canonicalIp(address)}/${Number(length)}`;
  return canonical === text
    ? []
    : [
        `${path}: IPv6 CIDR value ${JSON.stringify(text)} should be in RFC 5952 canonical format (${JSON.stringify(canonical)})`,
      ];
}
