// Service CIDRs. Source: pkg/apis/networking/validation ValidateServiceCIDR.

import type { Field } from '@kapstan/apiserver/internal';
import type { ServiceCIDR } from '@kapstan/kinds/networking.k8s.io/v1';
import type { BuiltinKind } from '../../builtin/builtin-kind.ts';
import { canonicalCidrErrors, cidrErrors } from '../../validation/value-rules.ts';

export const serviceCidrs: BuiltinKind<ServiceCIDR> = {
  id: 'networking.k8s.io/v1/servicecidrs',
  status: { keepsMetadata: true },
  validateCreate: (root, { spec }) => validateCidrs(root.child('spec', 'cidrs'), spec?.cidrs ?? []),
  validateChange: (root, next, old) => {
    const at = root.child('spec', 'cidrs');
    const [after, before] = [next.spec?.cidrs ?? [], old.spec?.cidrs ?? []];
    // A second address family may be added.
    const isAddition = before.length === 1 && after.length === 2;
    if (before.length !== after.length && !isAddition) return at.immutable(next.spec?.cidrs, false);
    before.forEach((cidr, index) => {
      at.index(index).immutable(after[index], after[index] === cidr);
    });
    if (isAddition) validateCidrs(at, after);
  },
};

/** Source: validateServiceCIDRSpec. */
function validateCidrs(at: Field, cidrs: readonly string[]): void {
  if (cidrs.length === 0) return at.required('at least one CIDR required');
  if (cidrs.length > 2) return at.invalid({ CIDRs: cidrs }, 'may only hold up to 2 values');
  at.each(cidrs, (cidr, place) => place.invalidAll(cidr, canonicalCidrErrors(cidr)));
  const families = cidrs.map((cidr) => (cidrErrors(cidr).length > 0 ? undefined : cidr.includes(':')));
  if (families.length === 2 && families[0] !== undefined && families[0] === families[1]) {
    at.invalid(cidrs, 'may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64');
  }
}
