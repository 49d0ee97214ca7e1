// PutCommitter commits every put of an ObjectStore, and binds puts with a lifetime to a lease. object-store.ts and
// object-update.ts use it; it uses lease-manager.ts and the engine.
import type { Revision } from '@kapstan/api';
import type { CallSignal } from '@kapstan/api/internal';
import type { CommitResult, Engine } from './engine.ts';
import { isStorageError } from './errors/storage-error.ts';
import type { LeaseManager } from './lease-manager.ts';
import type { CallSpan } from './tracing/call-span.ts';

export interface TimedPut {
  readonly key: string;
  readonly expectedRevision: Revision;
  readonly value: Uint8Array;
  /** Minimum lifetime of the key in seconds. 0 or absent = forever. */
  readonly ttlSeconds?: number | undefined;
  readonly signal?: CallSignal | undefined;
  readonly span?: CallSpan | undefined;
}

export class PutCommitter {
  readonly #engine: Engine;
  readonly #leases: LeaseManager;

  constructor(engine: Engine, leases: LeaseManager) {
    this.#engine = engine;
    this.#leases = leases;
  }

  async commit({ ttlSeconds = 0, value, ...put }: TimedPut): Promise<CommitResult> {
    if (ttlSeconds === 0) return this.#engine.commit({ ...put, change: { type: 'put', value } });
    for (;;) {
      const { id, attempts } = await this.#leases.leaseFor(ttlSeconds, put.span);
      try {
        return await this.#engine.commit({ ...put, change: { type: 'put', value, lease: id } });
      } catch (error) {
        // The engine does not know the lease: it was revoked, or the engine's clock runs ahead of ours.
        if (!isStorageError(error, 'InvalidObject')) throw error;
        this.#leases.forget(id);
        if (attempts === 1) throw error;
      }
    }
  }
}
