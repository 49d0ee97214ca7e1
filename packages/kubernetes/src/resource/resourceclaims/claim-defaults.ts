// Defaults of a resource claim or a template of claims. Source: pkg/apis/resource/v1/defaults.go.
import type { ResourceClaimSpec } from '@kapstan/kinds/resource.k8s.io/v1';

export function setResourceClaimDefaults(spec: ResourceClaimSpec | undefined): void {
  for (const request of spec?.devices?.requests ?? []) {
    for (const wanted of [request.exactly, ...(request.firstAvailable ?? [])]) {
      if (wanted === undefined) continue;
      wanted.allocationMode ||= 'ExactCount';
      if (wanted.allocationMode === 'ExactCount') wanted.count ||= 1;
    }
  }
}
