// Service CIDRs. Source: pkg/apis/networking/validation ValidateServiceCIDR.
import type { ServiceCIDR } from '@kapstan/kinds/networking.k8s.io/v1';
import type { BuiltinKind } from '../../builtin-kind.ts';
import { cidrErrors } from '../../validation/value-rules.ts';

export const serviceCidrs: BuiltinKind<ServiceCIDR> = {
  id: 'networking.k8s.io/v1/servicecidrs',
  validate: (root, { spec }) => {
    const at = root.child('spec', 'cidrs');
    const cidrs = spec?.cidrs ?? [];
    if (cidrs.length === 0) return at.required('at least one CIDR required');
    if (cidrs.length > 2) return at.invalid(cidrs, 'may only hold up to 2 values');
    const isSameFamily = cidrs.length === 2 && cidrs[0]?.includes(':') === cidrs[1]?.includes(':');
    if (isSameFamily)
      at.invalid(cidrs, 'may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64');
    at.each(cidrs, (cidr, place) => place.invalidAll(cidr, cidrErrors(cidr)));
  },
};
