// componentstatuses: how the parts of a control plane are, asked for at each read. Deprecated since 1.19, and still there. What is
// asked is given by who builds the server. Source: pkg/registry/core/componentstatus.
import type { ComponentStatus } from '@kapstan/kinds/core/v1';
import type { VirtualKind } from '../../builtin/virtual-resource.ts';

/** What a part said of itself. */
export interface ComponentHealth {
  /** 'Unknown': it could not be asked. */
  readonly status: 'True' | 'False' | 'Unknown';
  /** In its own words, or why it said none. Default none. */
  readonly message?: string;
  readonly error?: string;
}

/** By name: "scheduler", "etcd-0". A function must not reject. */
export type ComponentChecks = ReadonlyMap<string, () => Promise<ComponentHealth>>;

export function componentStatuses(checks: ComponentChecks): VirtualKind<ComponentStatus> {
  return {
    id: 'v1/componentstatuses',
    deprecationWarning: 'v1 ComponentStatus is deprecated in v1.19+',
    names: () => [...checks.keys()],
    notFoundAs: 'componentstatus',
    read: async (name) => {
      const check = checks.get(name);
      if (check === undefined) return undefined;
      return { metadata: { name }, conditions: [{ type: 'Healthy', ...(await check()) }] };
    },
  };
}
