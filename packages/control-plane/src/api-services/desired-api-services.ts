// The APIServices that a server maintains for itself: one for each group version that it serves. Read by
// api-service-registration.ts. Source: cmd/kube-apiserver/app/aggregator.go, controlplane/apiserver/aggregator.go (apiVersionPriorities),
// controlplane/controller/crdregistration.
import type { ResourceCatalog, ResourceDefinition } from '@kapstan/apiserver';
import type { APIService } from '@kapstan/kinds/apiregistration.k8s.io/v1';

/** Label with the mode of an APIService: corrected after every change ("true") or only when a server starts ("onstart"). */
export const automanagedLabel = 'kube-aggregator.kubernetes.io/automanaged';

/** Priority of a group among the groups, and of each version within its group. */
type Priorities = readonly [group: number, versions: Readonly<Record<string, number>>];

/** A group version that is not listed here is not registered. The aggregator's own group, apiregistration.k8s.io, never is. */
const builtinPriorities: Readonly<Record<string, Priorities>> = {
  '': [18_000, { v1: 1 }],
  apps: [17_800, { v1: 15 }],
  'events.k8s.io': [17_750, { v1: 15 }],
  'authentication.k8s.io': [17_700, { v1: 15, v1beta1: 9, v1alpha1: 1 }],
  'authorization.k8s.io': [17_600, { v1: 15 }],
  autoscaling: [17_500, { v1: 15, v2: 30 }],
  batch: [17_400, { v1: 15 }],
  'certificates.k8s.io': [17_300, { v1: 15, v1beta1: 9, v1alpha1: 1 }],
  'networking.k8s.io': [17_200, { v1: 15, v1beta1: 9 }],
  policy: [17_100, { v1: 15 }],
  'rbac.authorization.k8s.io': [17_000, { v1: 15 }],
  'storage.k8s.io': [16_800, { v1: 15, v1beta1: 9, v1alpha1: 1 }],
  'apiextensions.k8s.io': [16_700, { v1: 15 }],
  'admissionregistration.k8s.io': [16_700, { v1: 15, v1beta1: 12, v1alpha1: 9 }],
  'scheduling.k8s.io': [16_600, { v1: 15, v1alpha2: 2 }],
  'coordination.k8s.io': [16_500, { v1: 15, v1beta1: 13, v1alpha2: 12 }],
  'node.k8s.io': [16_300, { v1: 15, v1alpha1: 1, v1beta1: 9 }],
  'discovery.k8s.io': [16_200, { v1: 15, v1beta1: 12 }],
  'resource.k8s.io': [16_200, { v1: 21, v1beta2: 15, v1beta1: 9, v1alpha3: 1 }],
  'flowcontrol.apiserver.k8s.io': [16_100, { v1: 21, v1beta3: 18 }],
  'internal.apiserver.k8s.io': [16_000, { v1alpha1: 9 }],
  'storagemigration.k8s.io': [15_800, { v1beta1: 9 }],
};
const customPriorities = { groupPriorityMinimum: 1000, versionPriority: 100 } as const;

/**
 * Returns the APIServices by name, such as "v1.apps". Those of built-in groups are corrected when a server starts, those of definitions
 * always.
 */
export function desiredApiServices(catalog: ResourceCatalog): Map<string, APIService> {
  const desired = new Map<string, APIService>();
  for (const { definition } of catalog.all()) {
    const name = apiServiceName(definition);
    const service = desired.has(name) ? undefined : desiredApiService(definition);
    if (service !== undefined) desired.set(name, service);
  }
  return desired;
}

export function apiServiceName({ group, version }: Pick<Served, 'group' | 'version'>): string {
  return `${version}.${group}`;
}

type Served = Pick<ResourceDefinition, 'group' | 'version' | 'isCustom'>;

/** Returns undefined for a group version that is not registered. */
export function desiredApiService(served: Served): APIService | undefined {
  const { group, version, isCustom } = served;
  const priorities = isCustom === true ? customPriorities : prioritiesOf(group, version);
  if (priorities === undefined) return undefined;
  const name = apiServiceName(served);
  return {
    apiVersion: 'apiregistration.k8s.io/v1',
    kind: 'APIService',
    metadata: { name, labels: { [automanagedLabel]: isCustom === true ? 'true' : 'onstart' } },
    spec: { ...(group !== '' && { group }), version, ...priorities },
  };
}

function prioritiesOf(
  group: string,
  version: string,
): { readonly groupPriorityMinimum: number; readonly versionPriority: number } | undefined {
  const [groupPriorityMinimum = 0, versions = {}] = builtinPriorities[group] ?? [];
  const versionPriority = versions[version];
  return versionPriority === undefined ? undefined : { groupPriorityMinimum, versionPriority };
}
