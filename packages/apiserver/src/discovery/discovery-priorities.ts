// DiscoveryPriorities orders groups and versions by the numbers of their registrations. Used by discovery-index.ts. Source:
// kube-aggregator apiregistration/v1/helper (SortedByGroupAndVersion), handler_discovery.go.
import type { ApiRegistration } from '../aggregation/api-registration.ts';
import type { ResourceDefinition } from '../registry/definition/resource-definition.ts';

/** Priorities of custom resources, which count from the moment they are served. */
const custom = { group: 1000, version: 100 } as const;

export class DiscoveryPriorities {
  readonly #groups = new Map<string, number>();
  readonly #versions = new Map<string, number>();
  readonly #isEmpty: boolean;

  constructor(registrations: Iterable<ApiRegistration>) {
    for (const { group, version, groupPriority, versionPriority } of registrations) {
      this.#groups.set(group, Math.max(groupPriority, this.#groups.get(group) ?? 0));
      this.#versions.set(`${group}/${version}`, versionPriority);
    }
    this.#isEmpty = this.#groups.size === 0;
  }

  /** Without registrations all groups are equal. The aggregator's own group is never registered and comes first. */
  ofGroup(group: string, definitions: readonly ResourceDefinition[]): number {
    if (this.#isEmpty) return 0;
    if (definitions.some(({ hasGroupRoute }) => hasGroupRoute === true)) return Number.MAX_SAFE_INTEGER;
    return this.#groups.get(group) ?? (isCustom(definitions) ? custom.group : 0);
  }

  ofVersion(group: string, version: string, definitions: readonly ResourceDefinition[]): number {
    if (this.#isEmpty) return 0;
    return this.#versions.get(`${group}/${version}`) ?? (isCustom(definitions) ? custom.version : 0);
  }
}

function isCustom(definitions: readonly ResourceDefinition[]): boolean {
  return definitions.some((definition) => definition.isCustom === true);
}
