// PutCommitter commits every put of an ObjectStore: it counts the commit, lets readers of the key wait for it, and binds puts with a lifetime
// to a lease. object-store.ts and object-update.ts use it; it uses write-turns.ts, lease-manager.ts and the engine.
import type { Clock, Revision } from '@kapstan/api';
import type { CallSignal } from '@kapstan/api/internal';
import type { CommitResult, Engine } from './engine.ts';
import { isStorageError } from './errors/storage-error.ts';
import type { LeaseManager } from './lease-manager.ts';
import type { StoreCounters } from './store-counters.ts';
import type { CallSpan } from './tracing/call-span.ts';
import type { WriteTurns } from './write-turns.ts';

export interface TimedPut {
  readonly key: string;
  readonly expectedRevision: Revision;
  readonly value: Uint8Array;
  /** Minimum lifetime of the key in seconds. 0 or absent = forever. */
  readonly ttlSeconds?: number | undefined;
  readonly signal?: CallSignal | undefined;
  readonly span?: CallSpan | undefined;
}

export interface PutCommitterParts {
  readonly engine: Engine;
  readonly leases: LeaseManager;
  readonly turns: WriteTurns;
  readonly counters: StoreCounters;
  readonly clock: Clock;
}

export class PutCommitter {
  readonly #engine: Engine;
  readonly #leases: LeaseManager;
  readonly #turns: WriteTurns;
  readonly #counters: StoreCounters;
  readonly #clock: Clock;

  constructor({ engine, leases, turns, counters, clock }: PutCommitterParts) {
    this.#engine = engine;
    this.#leases = leases;
    this.#turns = turns;
    this.#counters = counters;
    this.#clock = clock;
  }

  async commit(operation: 'create' | 'update', put: TimedPut): Promise<CommitResult> {
    const startMs = this.#clock.monotonicNow();
    const turns = this.#turns.begin(put.key);
    try {
      return await this.#send(put);
    } catch (error) {
      this.#counters.failed(operation);
      throw error;
    } finally {
      this.#turns.end(put.key, turns);
      this.#counters.requested(operation, this.#clock.monotonicNow() - startMs);
    }
  }

  async #send({ ttlSeconds = 0, value, ...put }: TimedPut): Promise<CommitResult> {
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
