// NodePortRegistry: where the node ports that are taken are written down. A port of the server; core/services/node-ports.ts works with it.
import type { KubernetesObject } from '@kapstan/api';

/** Source: core/v1 RangeAllocation. */
export interface RangeAllocation extends KubernetesObject {
  /** "30000-32767" */
  range: string;
  /** Base64. */
  data: string | null;
}

/** Where the ports are written down. */
export interface NodePortRegistry {
  /** Reads, changes and writes; `change` runs again when somebody else wrote meanwhile. What it throws is what is rejected with. */
  update(change: (present: RangeAllocation | undefined) => RangeAllocation): Promise<void>;
}

export interface NodePortRange {
  readonly first: number;
  readonly last: number;
}
