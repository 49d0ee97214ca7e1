// What the generic machinery of webhooks and policies must know of Kubernetes: what a namespace is, and which kinds are
// exempt. Used by webhook-admission.ts and policies/policy-admission.ts.
import type { GroupVersionKind } from '@kapstan/api/internal';
import { ObjectReader, type ResourceCatalog } from '@kapstan/apiserver';
import {
  ConditionMetrics,
  EquivalentResources,
  type NamespaceReader,
  RequestMatching,
} from '@kapstan/apiserver/internal';
import { namespaces } from './namespace-exists.ts';

/** What the plug-ins of webhooks and of policies share. */
export interface AdmissionMatching {
  readonly requests: RequestMatching;
  readonly conditionMetrics: ConditionMetrics;
}

export function admissionMatching(catalog: ResourceCatalog): AdmissionMatching {
  const requests = new RequestMatching(new EquivalentResources(catalog), namespaceReader(catalog));
  return { requests, conditionMetrics: new ConditionMetrics() };
}

function namespaceReader(catalog: ResourceCatalog): NamespaceReader {
  const reader = new ObjectReader(catalog);
  return {
    resource: namespaces,
    read: async (name) => {
      const target = { namespace: '', name };
      return (await reader.get(namespaces, target, 'cached')) ?? (await reader.get(namespaces, target, 'live'));
    },
  };
}

/** Kinds that decide about other requests. Source: rules.IsExemptAdmissionConfigurationResource. */
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
