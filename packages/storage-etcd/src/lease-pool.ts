// Leases, shared between keys as kube-apiserver shares them. Source: spec/storage.md §2.7. Part of etcd-engine.ts.
import { randomBytes } from 'node:crypto';
import type { Clock } from '@kapstan/api';
import type { Caller } from './caller.ts';
import { loadWire } from './wire.ts';

export interface LeasePoolOptions {
  readonly caller: Caller;
  readonly clock: Clock;
  /** Longest extra life of a lease that lets later keys share it, in seconds. */
  readonly reuseSeconds: number;
  /** Most keys to share one lease, attempts included. */
  readonly maxObjects: number;
}

interface SharedLease {
  readonly id: number;
  readonly expiresAtMs: number;
  attempts: number;
}

export class LeasePool {
  readonly #options: LeasePoolOptions;
  #shared: SharedLease | undefined;
  #granting: Promise<unknown> = Promise.resolve();

  constructor(options: LeasePoolOptions) {
    this.#options = options;
  }

  /** A lease of at least that life. One after the other, so that those who wait find the lease of the first. */
  grant(ttlSeconds: number): Promise<number> {
    const granted = this.#granting.then(() => this.#grant(ttlSeconds));
    this.#granting = granted.catch(() => undefined);
    return granted;
  }

  /** etcd does not know this lease (any more). */
  forget(id: number): void {
    if (this.#shared?.id === id) this.#shared = undefined;
  }

  async #grant(ttlSeconds: number): Promise<number> {
    const nowMs = this.#options.clock.monotonicNow();
    const reuseSeconds = Math.min(this.#options.reuseSeconds, Math.floor(ttlSeconds * 0.05));
    const shared = this.#shared;
    if (shared !== undefined) {
      shared.attempts += 1;
      const isLongEnough = nowMs + ttlSeconds * 1_000 < shared.expiresAtMs;
      const isShortEnough = nowMs + (ttlSeconds + reuseSeconds) * 1_000 >= shared.expiresAtMs;
      if (isLongEnough && isShortEnough && shared.attempts <= this.#options.maxObjects) return shared.id;
    }
    const id = await this.#create(ttlSeconds + reuseSeconds);
    this.#shared = { id, expiresAtMs: nowMs + (ttlSeconds + reuseSeconds) * 1_000, attempts: 1 };
    return id;
  }

  async #create(ttlSeconds: number): Promise<number> {
    // Ours, not etcd's: those may be too large for a number. 48 random bits do not collide in practice; etcd refuses if they do.
    const id = randomBytes(6).readUIntBE(0, 6) + 1;
    await this.#options.caller.write(loadWire().leaseGrant, { TTL: ttlSeconds, ID: id });
    return id;
  }
}
