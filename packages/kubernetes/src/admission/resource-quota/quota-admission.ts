// quotaAdmission makes the parts that the plug-in ResourceQuota shares with the control plane: the quotas that a feed keeps in step, and
// the charges for which the control loop waits. It connects the control plane with built-in-plugins.ts.
import type { Clock } from '@kapstan/api';
import type { GroupVersionResource } from '@kapstan/api/internal';
import { type AdmissionPlugin, ObjectReader, type PluginPorts, type ResourceCatalog } from '@kapstan/apiserver';
import { QuotaEvaluators } from '../../quota/quota-evaluators.ts';
import type { ClaimPorts } from '../../quota/resource-claim-usage.ts';
import type { LimitedResource } from './limited-resources.ts';
import { PendingCharges } from './pending-charges.ts';
import { QuotaStore } from './quota-store.ts';
import { ResourceQuotaPlugin } from './resource-quota.ts';

const pods: GroupVersionResource = { group: '', version: 'v1', resource: 'pods' };
const claims: GroupVersionResource = { group: 'resource.k8s.io', version: 'v1', resource: 'resourceclaims' };

/** The plug-in ResourceQuota, and the data that it follows. */
export interface QuotaAdmission {
  /** The caller must keep this in step with the stored quotas and device classes. */
  readonly quotas: QuotaStore;
  readonly pending: PendingCharges;
  readonly evaluators: QuotaEvaluators;
}

/** Returns the plug-in ResourceQuota. */
export function quotaAdmission({
  catalog,
  clock,
}: {
  readonly catalog: ResourceCatalog;
  readonly clock: Clock;
}): QuotaAdmission {
  const quotas = new QuotaStore();
  const reader = new ObjectReader(catalog);
  const ports = {
    classes: quotas.deviceClasses,
    pod: async (namespace, name) => (await reader.get(pods, { namespace, name }, 'cached')) as never,
    claims: async (namespace) => (await reader.listIn(claims, namespace)).map(({ object }) => object as never),
  } satisfies ClaimPorts;
  return { quotas, pending: new PendingCharges(), evaluators: new QuotaEvaluators({ ...ports, clock }) };
}

export function resourceQuota(
  { catalog, clock }: Pick<PluginPorts, 'catalog' | 'clock'>,
  { limited, shared }: { readonly limited: readonly LimitedResource[]; readonly shared: QuotaAdmission | undefined },
): AdmissionPlugin {
  return new ResourceQuotaPlugin({ catalog, clock, limited, ...(shared ?? quotaAdmission({ catalog, clock })) });
}
