// NodePorts allocates node ports in a store that several servers share: the taken ones are a bitmap in it, which each
// server changes by compare-and-set. Used by service-allocator.ts. Source: pkg/registry/core/service/portallocator,
// allocator/storage.
import { internalError } from '@kapstan/api/errors';
import type { NodePortRange, NodePortRegistry, RangeAllocation } from '../../builtin/node-port-registry.ts';
import { NumberPool, type NumberRange } from './number-pool.ts';

/** Returns the registry of a server that does not share its store: its services show the taken ports. */
export function ownNodePorts(): NodePortRegistry {
  let present: RangeAllocation | undefined;
  return {
    update: async (change) => {
      present = change(present);
    },
  };
}

export class NodePorts {
  readonly #range: NumberRange;
  readonly #text: string;
  readonly #registry: NodePortRegistry;
  #ready: Promise<void> | undefined;

  constructor({ first, last }: NodePortRange, registry: NodePortRegistry) {
    const size = last - first + 1;
    this.#range = { first, size, reserved: reservedCount(size) };
    this.#text = `${first}-${last}`;
    this.#registry = registry;
  }

  /**
   * Resolves to the result of `work`, which may take and release ports and may run several times. A dry run keeps none
   * of its changes. `readAll` returns the ports of all services, for the first server of a store.
   */
  async change<R>(
    { dryRun, readAll }: { readonly dryRun: boolean; readonly readAll: () => Promise<readonly number[]> },
    work: (ports: NumberPool) => R,
  ): Promise<R> {
    await this.#prepare(readAll);
    let result: { readonly value: R } | undefined;
    await this.#registry.update((present) => {
      if (present === undefined) throw this.#missing();
      if (present.range !== this.#text) throw refused('the provided range does not match the current range');
      const pool = NumberPool.parse(this.#range, present.data ?? '');
      result = { value: work(pool) };
      return dryRun ? present : { ...present, data: pool.format() };
    });
    if (result === undefined) throw new Error('nobody looked at the node ports');
    return result.value;
  }

  /** Makes the bitmap if there is none. A failure goes to the caller; the next call tries again. */
  #prepare(readAll: () => Promise<readonly number[]>): Promise<void> {
    this.#ready ??= this.#create(readAll).catch((error: unknown) => {
      this.#ready = undefined;
      throw error;
    });
    return this.#ready;
  }

  async #create(readAll: () => Promise<readonly number[]>): Promise<void> {
    const data = new NumberPool(this.#range, await readAll()).format();
    const made = { apiVersion: 'v1', kind: 'RangeAllocation', metadata: {}, range: this.#text, data };
    await this.#registry.update((present) => present ?? made);
  }

  /** The bitmap was deleted; the next write makes it again. */
  #missing(): Error {
    this.#ready = undefined;
    return refused('cannot allocate resources of type servicenodeportallocations at this time');
  }
}

function refused(why: string): Error {
  return internalError(new Error(`failed to allocate a nodePort: ${why}`));
}

/** Source: calculateRangeOffset. */
function reservedCount(size: number): number {
  if (size <= 16) return 0;
  return Math.min(128, Math.max(16, Math.floor(size / 32)));
}
