// componentstatuses shows the health of the control plane's parts, checked at each read. Deprecated since 1.19 but
// still there. The builder of the server passes the checks. Source: pkg/registry/core/componentstatus.
import type { ComponentStatus } from '@kapstan/kinds/core/v1';
import type { VirtualKind } from '../../builtin/virtual-resource.ts';

/** The health of a component, as the component reports it. */
export interface ComponentHealth {
  /** 'Unknown' = the part did not answer. */
  readonly status: 'True' | 'False' | 'Unknown';
  /** The part's own text, or the reason why there is none. Default none. */
  readonly message?: string;
  readonly error?: string;
}

/** Checks by name: "scheduler", "etcd-0". A function must not reject. */
export type ComponentChecks = ReadonlyMap<string, () => Promise<ComponentHealth>>;

/** Returns the kind ComponentStatus, which is computed by these checks. */
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
