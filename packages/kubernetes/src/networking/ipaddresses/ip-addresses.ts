// IP addresses: each records a cluster address and its owner. Source: pkg/apis/networking/validation ValidateIPAddress.
import type { DeepReadonly } from '@kapstan/api';
import { dnsSubdomainErrors } from '@kapstan/api/errors';
import type { Field } from '@kapstan/apiserver/internal';
import { jsonEqual, pathSegmentErrors } from '@kapstan/apiserver/internal';
import type { IPAddress, ParentReference } from '@kapstan/kinds/networking.k8s.io/v1';
import type { BuiltinKind } from '../../builtin/builtin-kind.ts';
import { internalForm } from '../../validation/internal-form.ts';
import { canonicalIpErrors } from '../../validation/value-rules.ts';

export const ipAddresses: BuiltinKind<IPAddress> = {
  id: 'networking.k8s.io/v1/ipaddresses',
  strategy: { updateMetadata: 'both' },
  validateName: (name) => canonicalIpErrors(name),
  validate: (root, next, old) => {
    const at = root.child('spec', 'parentRef');
    const parent = next.spec?.parentRef;
    if (parent === undefined) at.required();
    else validateParent(at, parent);
    if (old !== undefined)
      at.immutable(internalForm('networking.ParentReference', parent), jsonEqual(parent, old.spec?.parentRef));
  },
};

/** Source: validateIPAddressParentReference. */
function validateParent(at: Field, parent: DeepReadonly<ParentReference>): void {
  const { group = '', resource = '', name = '', namespace = '' } = parent;
  if (group !== '') at.child('group').invalidAll(group, dnsSubdomainErrors(group));
  for (const [field, text] of Object.entries({ resource, name })) {
    if (at.child(field).present(text)) at.child(field).invalidAll(text, pathSegmentErrors(text));
  }
  at.child('namespace').invalidAll(namespace, pathSegmentErrors(namespace));
}
