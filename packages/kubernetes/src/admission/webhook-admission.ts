// webhookAdmission makes what the plug-ins MutatingAdmissionWebhook and ValidatingAdmissionWebhook work with. Between
// the control plane and built-in-plugins.ts.
import type { Clock } from '@kapstan/api';
import type { GroupVersionKind } from '@kapstan/api/internal';
import type { AdmissionFunctions, Authorizer, ResourceCatalog, WebhookPool } from '@kapstan/apiserver';
import { ObjectReader } from '@kapstan/apiserver';
import {
  EquivalentResources,
  type NamespaceLabels,
  WebhookMatching,
  WebhookMetrics,
  type WebhookPorts,
} from '@kapstan/apiserver/internal';
import { namespaces } from './namespace-exists.ts';
import { WebhookConfigurations } from './webhook-configurations.ts';

export interface WebhookAdmissionOptions {
  readonly catalog: ResourceCatalog;
  readonly authorizer: Authorizer;
  readonly pool: WebhookPool;
  readonly functions: AdmissionFunctions;
  readonly clock: Clock;
}

export interface WebhookAdmission {
  /** To be kept in step with the stored ones; until then requests wait and are refused. */
  readonly configurations: WebhookConfigurations;
  readonly ports: WebhookPorts;
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

export function webhookAdmission(options: WebhookAdmissionOptions): WebhookAdmission {
  const { catalog, authorizer, pool, functions, clock } = options;
  const configurations = new WebhookConfigurations(pool);
  const equivalents = new EquivalentResources(catalog);
  const metrics = new WebhookMetrics();
  const matching = new WebhookMatching({
    equivalents,
    namespaces: namespaceLabels(catalog),
    authorizer,
    clock,
    metrics,
  });
  return {
    configurations,
    ports: {
      mutating: functions.before(configurations.source('MutatingWebhookConfiguration'), 'mutating'),
      validating: functions.before(configurations.source('ValidatingWebhookConfiguration'), 'validating'),
      matching,
      equivalents,
      metrics,
      clock,
      isExempt: ({ group, kind }: GroupVersionKind) => group === 'admissionregistration.k8s.io' && exempt.has(kind),
    },
  };
}

function namespaceLabels(catalog: ResourceCatalog): NamespaceLabels {
  const reader = new ObjectReader(catalog);
  return {
    resource: namespaces,
    labelsOf: async (name) => {
      const target = { namespace: '', name };
      const found = (await reader.get(namespaces, target, 'cached')) ?? (await reader.get(namespaces, target, 'live'));
      return found === undefined ? undefined : (found.metadata?.labels ?? {});
    },
  };
}
