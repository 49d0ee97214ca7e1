// Knowledge about Kubernetes for the generic machinery of webhooks and policies: what a namespace is, and which kinds
// are exempt. Used by webhook-admission.ts and policies/policy-admission.ts.
import type { GroupResource } from '@kapstan/api';
import { formatGroupResource, type GroupVersionKind } from '@kapstan/api/internal';
import { ObjectReader, type ResourceCatalog } from '@kapstan/apiserver';
import {
  ConditionMetrics,
  EquivalentResources,
  type NamespaceReader,
  RequestMatching,
} from '@kapstan/apiserver/internal';
import { namespaceResource } from './namespace-exists.ts';

/** Parts that the plug-ins of webhooks and of policies share. */
export interface AdmissionMatching {
  readonly requests: RequestMatching;
  readonly conditionMetrics: ConditionMetrics;
}

/** Returns the rules that decide which webhooks and policies a request concerns. */
export function admissionMatching(catalog: ResourceCatalog): AdmissionMatching {
  const requests = new RequestMatching(new EquivalentResources(catalog), namespaceReader(catalog));
  return { requests, conditionMetrics: new ConditionMetrics() };
}

function namespaceReader(catalog: ResourceCatalog): NamespaceReader {
  const reader = new ObjectReader(catalog);
  return {
    resource: namespaceResource,
    read: async (name) => {
      const target = { namespace: '', name };
      return (
        (await reader.get(namespaceResource, target, 'cached')) ?? (await reader.get(namespaceResource, target, 'live'))
      );
    },
  };
}

/**
 * Kinds that decide about other requests and for which no webhook is called. Source: rules.IsExemptAdmissionConfigurationResource.
 */
const exempt: ReadonlySet<string> = new Set([
  'ValidatingWebhookConfiguration',
  'MutatingWebhookConfiguration',
  'ValidatingAdmissionPolicy',
  'ValidatingAdmissionPolicyBinding',
  'MutatingAdmissionPolicy',
  'MutatingAdmissionPolicyBinding',
]);

export function isAdmissionConfiguration({ group, kind }: GroupVersionKind): boolean {
  return group === 'admissionregistration.k8s.io' && exempt.has(kind);
}

/**
 * Resources to which no policy applies: policies themselves, and reviews, without which nobody could sign in or be
 * authorized. Webhook configurations are not among them. Source: plugin/policy/generic admissionResources,
 * pkg/kubeapiserver/admission/exclusion.
 */
const withoutPolicies: ReadonlySet<string> = new Set([
  'validatingadmissionpolicies.admissionregistration.k8s.io',
  'validatingadmissionpolicybindings.admissionregistration.k8s.io',
  'mutatingadmissionpolicies.admissionregistration.k8s.io',
  'mutatingadmissionpolicybindings.admissionregistration.k8s.io',
  'selfsubjectreviews.authentication.k8s.io',
  'tokenreviews.authentication.k8s.io',
  'localsubjectaccessreviews.authorization.k8s.io',
  'selfsubjectaccessreviews.authorization.k8s.io',
  'selfsubjectrulesreviews.authorization.k8s.io',
  'subjectaccessreviews.authorization.k8s.io',
]);

export function isExemptFromPolicies(resource: GroupResource): boolean {
  return withoutPolicies.has(formatGroupResource(resource));
}
