// LeaseManager writes keys that expire; keys with similar lifetimes share a lease, as in etcd3/lease_manager.go. Part
// of object-store.ts: each store has one manager above the engine, which grants a new lease whenever it is asked.
import type { Clock, Revision } from '@kapstan/api';
import type { CallSignal } from '@kapstan/api/internal';
import type { CommitResult, Engine } from './engine.ts';
import type { Histogram } from './histogram.ts';
import { isStorageError } from './storage-error.ts';

export interface LeaseManagerOptions {
  readonly engine: Engine;
  readonly clock: Clock;
  /** Longest extra lifetime, in seconds, that a lease is given so that later keys can share it. */
  readonly reuseSeconds: number;
  /** Most keys that share one lease. Failed attempts count too. */
  readonly maxObjects: number;
  /**
   * Records how many keys shared a lease, when the next lease is granted; the key that asks for the next one counts
   * too.
   */
  readonly objectCounts?: Histogram;
}

export interface ExpiringPut {
  readonly key: string;
  readonly expectedRevision: Revision;
  readonly value: Uint8Array;
  /** Least lifetime of the key in seconds. 0 or absent = for ever. */
  readonly ttlSeconds?: number | undefined;
  readonly signal?: CallSignal;
}

interface SharedLease {
  readonly id: number;
  readonly expiresAtMs: number;
  attempts: number;
}

export class LeaseManager {
  readonly #options: LeaseManagerOptions;
  #shared: SharedLease | undefined;
  #granting: Promise<unknown> = Promise.resolve();

  constructor(options: LeaseManagerOptions) {
    this.#options = options;
  }

  /** Commits the put, bound to a lease when it has a lifetime. */
  async put({ ttlSeconds = 0, value, ...put }: ExpiringPut): Promise<CommitResult> {
    const { engine } = this.#options;
    if (ttlSeconds === 0) return engine.commit({ ...put, change: { type: 'put', value } });
    for (;;) {
      const { id, attempts } = await this.#leaseFor(ttlSeconds);
      try {
        return await engine.commit({ ...put, change: { type: 'put', value, lease: id } });
      } catch (error) {
        // The engine does not know the lease: it was revoked, or the engine's clock runs ahead of ours.
        if (!isStorageError(error, 'InvalidObject')) throw error;
        if (this.#shared?.id === id) this.#shared = undefined;
        if (attempts === 1) throw error;
      }
    }
  }

  /** Serves callers one after the other, so that those who wait find the lease of the first. */
  #leaseFor(ttlSeconds: number): Promise<Readonly<SharedLease>> {
    const granted = this.#granting.then(() => this.#shareOrGrant(ttlSeconds));
    this.#granting = granted.catch(() => undefined);
    return granted;
  }

  async #shareOrGrant(ttlSeconds: number): Promise<Readonly<SharedLease>> {
    const { engine, clock, maxObjects } = this.#options;
    const nowMs = clock.monotonicNow();
    const reuseSeconds = Math.min(this.#options.reuseSeconds, Math.floor(ttlSeconds * 0.05));
    const shared = this.#shared;
    if (shared !== undefined) {
      shared.attempts += 1;
      const isLongEnough = nowMs + ttlSeconds * 1_000 < shared.expiresAtMs;
      const isShortEnough = nowMs + (ttlSeconds + reuseSeconds) * 1_000 >= shared.expiresAtMs;
      if (isLongEnough && isShortEnough && shared.attempts <= maxObjects) return { ...shared };
    }
    const id = await engine.grantLease(ttlSeconds + reuseSeconds);
    this.#options.objectCounts?.observe(shared?.attempts ?? 1);
    this.#shared = { id, expiresAtMs: nowMs + (ttlSeconds + reuseSeconds) * 1_000, attempts: 1 };
    return { ...this.#shared };
  }
}
