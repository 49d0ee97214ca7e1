// LeaseManager finds leases for keys that expire; keys with similar lifetimes share one, as in etcd3/lease_manager.go.
// Used by put-committer.ts. The engine below grants a new lease on every request.
import type { Clock } from '@kapstan/api';
import type { Histogram } from '@kapstan/api/internal';
import type { Engine } from './engine.ts';
import type { CallSpan } from './tracing/call-span.ts';

export interface LeaseManagerOptions {
  readonly engine: Engine;
  readonly clock: Clock;
  /** Longest additional lifetime, in seconds, that a lease is given so that later keys can share it. */
  readonly reuseSeconds: number;
  /** Maximum number of keys that share one lease. Failed attempts count too. */
  readonly maxObjects: number;
  /**
   * Records how many keys shared a lease, when the next lease is granted; the key that requests the next one counts
   * too.
   */
  readonly objectCounts?: Histogram;
}

export interface SharedLease {
  readonly id: number;
  readonly expiresAtMs: number;
  /** Number of keys that were given this lease. */
  attempts: number;
}

export class LeaseManager {
  readonly #options: LeaseManagerOptions;
  #shared: SharedLease | undefined;
  #granting: Promise<unknown> = Promise.resolve();

  constructor(options: LeaseManagerOptions) {
    this.#options = options;
  }

  /**
   * Returns a lease of at least this lifetime. Callers are served one after the other, so that a waiting caller finds the lease of the
   * previous one.
   */
  leaseFor(ttlSeconds: number, span?: CallSpan): Promise<Readonly<SharedLease>> {
    const granted = this.#granting.then(() => this.#shareOrGrant(ttlSeconds, span));
    this.#granting = granted.catch(() => undefined);
    return granted;
  }

  /** Stops sharing a lease that the engine does not know. */
  forget(id: number): void {
    if (this.#shared?.id === id) this.#shared = undefined;
  }

  async #shareOrGrant(ttlSeconds: number, span: CallSpan | undefined): Promise<Readonly<SharedLease>> {
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
    const id = await engine.grantLease(ttlSeconds + reuseSeconds, { span });
    this.#options.objectCounts?.observe(shared?.attempts ?? 1);
    this.#shared = { id, expiresAtMs: nowMs + (ttlSeconds + reuseSeconds) * 1_000, attempts: 1 };
    return { ...this.#shared };
  }
}
