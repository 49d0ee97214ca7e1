// References of ingresses and their classes to objects of any kind. Source: pkg/apis/networking/validation
// validateIngressTypedLocalObjectReference.
import type { DeepReadonly } from '@kapstan/api';
import { dnsSubdomainErrors } from '@kapstan/api/errors';
import type { Field } from '@kapstan/apiserver/internal';
import { pathSegmentErrors } from '@kapstan/apiserver/internal';

interface TypedReference {
  /** Go writes null for a group that was not set. */
  readonly apiGroup?: string | null;
  readonly kind?: string;
  readonly name?: string;
}

export function validateTypedReference(at: Field, reference: DeepReadonly<TypedReference>): void {
  const { apiGroup, kind = '', name = '' } = reference;
  if (apiGroup != null) at.child('apiGroup').invalidAll(apiGroup, dnsSubdomainErrors(apiGroup));
  for (const [field, text] of Object.entries({ kind, name })) {
    if (at.child(field).present(text)) at.child(field).invalidAll(text, pathSegmentErrors(text));
  }
}
