// IP addresses: cluster addresses and who has them. Source: pkg/apis/networking/validation ValidateIPAddress.
import type { IPAddress } from '@kapstan/kinds/networking.k8s.io/v1';
import type { BuiltinKind } from '../../builtin-kind.ts';
import { jsonEqual } from '../../json-equality.ts';
import { ipErrors } from '../../validation/value-rules.ts';

export const ipAddresses: BuiltinKind<IPAddress> = {
  id: 'networking.k8s.io/v1/ipaddresses',
  strategy: { updateMetadata: 'both' },
  validateName: (name) => ipErrors(name),
  validate: (root, { spec }) => {
    const at = root.child('spec', 'parentRef');
    if (spec?.parentRef === undefined) return at.required();
    at.child('resource').present(spec.parentRef.resource);
    at.child('name').present(spec.parentRef.name);
  },
  validateChange: (root, next, old) => {
    root
      .child('spec', 'parentRef')
      .immutable(next.spec?.parentRef, jsonEqual(next.spec?.parentRef, old.spec?.parentRef));
  },
};
