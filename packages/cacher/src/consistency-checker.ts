// ConsistencyChecker periodically compares the cache with the storage below at the same revision. Owned by cacher.ts.
// Source: apiserver storage/cacher (consistencyChecker).

import {
  type CancelTimer,
  type Clock,
  everyField,
  everyLabel,
  isExpired,
  type KubernetesObject,
  type Logger,
} from '@kapstan/api';
import { formatRevision, TurnSlice } from '@kapstan/api/internal';
import { rangeOf, type Storage, type StorageListOptions, type Stored } from '@kapstan/storage';
import { FnvHash } from './fnv-hash.ts';
import { setSharedTimer } from './shared-timer.ts';
import type { WatchCache } from './watch-cache.ts';

export const defaultConsistencyPeriodMs = 300_000;
const jitter = 0.5;
const pageSize = 10_000;

export type ConsistencyStatus = 'success' | 'failure' | 'error';

export interface ConsistencyCheckerOptions<T extends KubernetesObject> {
  readonly storage: Storage<T>;
  readonly cache: WatchCache<T>;
  /** Prefix of the resource, with a slash at its end. */
  readonly prefix: string;
  /** Returns whether the cache may answer. While it may not, a check is an error and changes nothing. */
  readonly isReady: () => boolean;
  /** Minimum time between two checks, in milliseconds. Up to half of it is added at random. 0 = no checks. */
  readonly periodMs: number;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
}

export class ConsistencyChecker<T extends KubernetesObject> {
  /** Number of checks by outcome. They never go down. */
  readonly counters: Record<ConsistencyStatus, number> = { success: 0, failure: 0, error: 0 };
  readonly #options: ConsistencyCheckerOptions<T>;
  readonly #abort = new AbortController();
  #cancel: CancelTimer | undefined;

  constructor(options: ConsistencyCheckerOptions<T>) {
    this.#options = options;
  }

  /** Starts the checks. The first one runs one period from now. */
  start(): void {
    const { periodMs, clock, random } = this.#options;
    if (periodMs === 0 || this.#abort.signal.aborted) return;
    this.#cancel = setSharedTimer(clock, () => void this.#run(), periodMs * (1 + jitter * random()));
  }

  close(): void {
    this.#abort.abort();
    this.#cancel?.();
  }

  /** Runs one check now. While cache and storage differ, past states are read from the storage. */
  async check(): Promise<ConsistencyStatus> {
    const status = await this.#compare().catch((error: unknown): ConsistencyStatus => {
      // The revision of an idle resource may be compacted before a progress report advances the cache. That is not a
      // fault.
      const level = isExpired(error) ? 'debug' : 'warn';
      if (!this.#abort.signal.aborted)
        this.#log(level, 'the watch cache could not be compared with the storage', { error });
      return 'error';
    });
    if (this.#abort.signal.aborted) return 'error';
    this.counters[status]++;
    if (status !== 'error') this.#options.cache.markConsistent(status === 'success');
    return status;
  }

  async #run(): Promise<void> {
    await this.check();
    this.start();
  }

  async #compare(): Promise<ConsistencyStatus> {
    const { cache, prefix, isReady } = this.#options;
    if (!isReady()) return 'error';
    // Atomic: the entries and their revision are taken in one turn.
    const { revision } = cache;
    const entries = cache.store.range(prefix, rangeOf(prefix).end);
    const held = new FnvHash();
    await this.#put(
      held,
      entries.map((entry) => entry.stored),
    );
    const stored = await this.#storedDigest(formatRevision(revision));
    if (held.hex === stored) return 'success';
    this.#log('error', 'the watch cache differs from the storage', { revision, cache: held.hex, storage: stored });
    return 'failure';
  }

  async #storedDigest(resourceVersion: string): Promise<string> {
    const { storage, prefix } = this.#options;
    const digest = new FnvHash();
    let token = '';
    do {
      const page = await storage.getList(prefix, this.#pageOptions(resourceVersion, token));
      if (page.resourceVersion !== resourceVersion) {
        throw new Error(`the storage answered at version ${page.resourceVersion} instead of ${resourceVersion}`);
      }
      await this.#put(digest, page.items);
      token = page.continue;
    } while (token !== '');
    return digest.hex;
  }

  #pageOptions(resourceVersion: string, token: string): StorageListOptions<T> {
    const at = token === '' ? { resourceVersion, resourceVersionMatch: 'Exact' as const } : {};
    const predicate = {
      labels: everyLabel,
      fields: everyField,
      getAttributes: () => ({ labels: {}, fields: {} }),
      limit: pageSize,
      continue: token,
      allowWatchBookmarks: false,
    };
    return { ...at, predicate, recursive: true, signal: this.#abort.signal };
  }

  async #put(digest: FnvHash, items: readonly Stored<T>[]): Promise<void> {
    const slice = new TurnSlice();
    for (const { key, revision } of items) {
      if (slice.endsHere()) await slice.nextTurn();
      digest.put(`${key}/${revision}`);
    }
  }

  #log(level: 'debug' | 'warn' | 'error', message: string, details: Readonly<Record<string, unknown>>): void {
    this.#options.logger[level](message, { prefix: this.#options.prefix, ...details });
  }
}
