// LeaseBook knows each lease's deadline and keys, and deletes the keys when the lease runs out. Writes through
// committer.ts; started and stopped by lmdb-engine.ts.
import type { CancelTimer, Clock, Logger } from '@kapstan/api';
import { isStorageError, StorageError } from '@kapstan/storage';
import type { Committer } from './committer.ts';
import type { Environment } from './environment.ts';
import { decodeBinding, decodeLease, decodeNumber, encodeLease, encodeNumber, type LeaseRow } from './row-codec.ts';
import { readCurrent } from './version-reader.ts';

export interface LeaseBookOptions {
  readonly env: Environment;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Longest time between two looks at the deadlines, because a wall clock may jump. */
const longestSleepMs = 60_000;
const retryMs = 1_000;
const keysAtOnce = 500;

export class LeaseBook {
  readonly #options: LeaseBookOptions;
  readonly #leases: Map<number, LeaseRow> = new Map();
  #committer: Committer | undefined;
  #granting: Promise<unknown> = Promise.resolve();
  #lastId = 0;
  #cancelTimer: CancelTimer | undefined;
  #expiry: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(options: LeaseBookOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#leases.size;
  }

  has(id: number): boolean {
    return this.#leases.has(id);
  }

  /** Loads the leases of a former process, and expires leases that ran out meanwhile. */
  start(committer: Committer): void {
    const { env } = this.#options;
    this.#committer = committer;
    this.#lastId = env.meta('lastLease');
    let start = encodeNumber(0);
    for (let found = nextLease(env, start); found !== undefined; found = nextLease(env, start)) {
      this.#leases.set(found.id, found.row);
      start = encodeNumber(found.id + 1);
    }
    this.#arm();
  }

  /** Grants a lease, which is durable when the promise resolves. */
  grant(ttlSeconds: number): Promise<number> {
    if (this.#isClosed) return Promise.reject(new StorageError({ code: 'Closed' }));
    const granted = this.#grant(ttlSeconds);
    this.#granting = Promise.allSettled([this.#granting, granted]);
    return granted;
  }

  /** Refuses further grants. Resolves when requested grants are durable and no lease is being expired. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancelTimer?.();
    await this.#granting;
    await this.#expiry;
  }

  async #grant(ttlSeconds: number): Promise<number> {
    this.#lastId += 1;
    const id = this.#lastId;
    const row = { ttlSeconds, expiresAtMs: Math.round(this.#options.clock.now()) + ttlSeconds * 1_000 };
    const { env } = this.#options;
    await this.#committer?.write((batch) => {
      batch.writes.put(env.leases, encodeNumber(id), encodeLease(row));
      env.putMeta(batch.writes, 'lastLease', id);
    });
    this.#leases.set(id, row);
    this.#arm();
    return id;
  }

  #arm(minimumMs = 0): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    if (this.#isClosed || this.#leases.size === 0) return;
    let first = Number.POSITIVE_INFINITY;
    for (const lease of this.#leases.values()) first = Math.min(first, lease.expiresAtMs);
    const delayMs = Math.min(Math.max(first - this.#options.clock.now(), minimumMs), longestSleepMs);
    this.#cancelTimer = this.#options.clock.setBackgroundTimer(() => this.#wake(), delayMs);
  }

  /** Waits for an expiry that is under way, because a grant sets the timer again, so it may fire during one. */
  #wake(): void {
    this.#expiry = this.#expiry.then(() => this.#expireAll());
  }

  async #expireAll(): Promise<void> {
    let retryInMs = 0;
    // Look again after each pass, because more leases may run out meanwhile.
    for (let due = this.#due(); due.length > 0 && retryInMs === 0; due = this.#due()) {
      for (const [id, row] of due) {
        if (this.#isClosed) return;
        // Forget the lease first, so that no more keys can be bound to it.
        this.#leases.delete(id);
        try {
          await this.#expire(id);
        } catch (error) {
          if (isStorageError(error, 'Closed')) return;
          this.#options.logger.error('a lease could not expire; trying again', { lease: id, error });
          this.#leases.set(id, row);
          retryInMs = retryMs;
        }
      }
    }
    this.#arm(retryInMs);
  }

  #due(): [number, LeaseRow][] {
    const nowMs = this.#options.clock.now();
    return [...this.#leases].filter(([, lease]) => lease.expiresAtMs <= nowMs);
  }

  /** Deletes the bound keys by ordinary commits, then the lease. */
  async #expire(id: number): Promise<void> {
    const { env } = this.#options;
    const committer = this.#committer;
    if (committer === undefined) return;
    // A put accepted just before may not be in the table yet; this write resolves after it.
    await committer.write(() => undefined);
    for (let keys = boundKeys(env, id); keys.length > 0; keys = boundKeys(env, id)) {
      if (this.#isClosed) return;
      await Promise.all(keys.map((key) => this.#deleteBound(committer, id, key)));
    }
    await committer.write((batch) => batch.writes.remove(env.leases, encodeNumber(id)));
  }

  /**
   * Deletes a bound key. One that changed meanwhile stays; if it is still bound, the caller's next look finds it again.
   */
  async #deleteBound(committer: Committer, id: number, key: string): Promise<void> {
    const kv = readCurrent(this.#options.env, key);
    if (kv?.lease !== id) return;
    await committer.commit({ key, expectedRevision: kv.modRevision, change: { type: 'delete' } });
  }
}

function nextLease(env: Environment, start: Buffer): { id: number; row: LeaseRow } | undefined {
  for (const { key, value } of env.leases.getRange({ start, limit: 1 })) {
    return { id: decodeNumber(key), row: decodeLease(value) };
  }
  return undefined;
}

function boundKeys(env: Environment, id: number): string[] {
  const keys: string[] = [];
  for (const key of env.leases.getKeys({ start: encodeNumber(id), end: encodeNumber(id + 1), limit: keysAtOnce + 1 })) {
    const bound = decodeBinding(key);
    if (bound !== undefined) keys.push(bound);
  }
  return keys;
}
