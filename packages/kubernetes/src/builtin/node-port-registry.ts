// NodePortRegistry records the taken node ports. A port of the server, used by core/services/node-ports.ts.
import type { KubernetesObject } from '@kapstan/api';

/** Source: core/v1 RangeAllocation. */
export interface RangeAllocation extends KubernetesObject {
  /** For example "30000-32767". */
  range: string;
  /** The bitmap in base64. */
  data: string | null;
}

/** The record of taken ports. */
export interface NodePortRegistry {
  /**
   * Reads, changes and writes the record. `change` runs again when somebody else wrote meanwhile; an error that it
   * throws rejects the promise.
   */
  update(change: (present: RangeAllocation | undefined) => RangeAllocation): Promise<void>;
}

export interface NodePortRange {
  readonly first: number;
  readonly last: number;
}
