// CacheUpdater puts the feed's reports into the cache, then notifies waiting readers and watchers. It connects feed.ts
// with watch-cache.ts, freshness.ts and dispatcher.ts. Made by cacher.ts.
import type { KubernetesObject, Revision } from '@kapstan/api';
import type { ChangeEvent, Stored } from '@kapstan/storage';
import type { CacheEntry } from './cache-entry.ts';
import type { Dispatcher } from './dispatcher.ts';
import type { FeedSink } from './feed.ts';
import type { Freshness } from './freshness.ts';
import type { Readiness } from './readiness.ts';
import type { WatchCache } from './watch-cache.ts';

export interface CacheUpdaterOptions<T extends KubernetesObject> {
  readonly cache: WatchCache<T>;
  readonly freshness: Freshness;
  readonly dispatcher: Dispatcher<T>;
  readonly readiness: Readiness;
}

export class CacheUpdater<T extends KubernetesObject> implements FeedSink<T> {
  readonly #cache: WatchCache<T>;
  readonly #freshness: Freshness;
  readonly #dispatcher: Dispatcher<T>;
  readonly #readiness: Readiness;
  #eventsReceived = 0;

  constructor(options: CacheUpdaterOptions<T>) {
    this.#cache = options.cache;
    this.#freshness = options.freshness;
    this.#dispatcher = options.dispatcher;
    this.#readiness = options.readiness;
  }

  /** Number of changes received. It never goes down. */
  get eventsReceived(): number {
    return this.#eventsReceived;
  }

  onListed(stored: Stored<T>): CacheEntry<T> {
    return this.#cache.listed(stored);
  }

  onReplace(entries: readonly CacheEntry<T>[], revision: Revision): void {
    this.#cache.replace(entries, revision);
    this.#readiness.setReady();
    this.#freshness.advanced();
  }

  // Atomic: the cache holds the change before any reader or watcher is notified (I2).
  onChange(event: ChangeEvent<T>): void {
    this.#eventsReceived++;
    this.#cache.apply(event);
    this.#freshness.advanced();
    this.#dispatcher.dispatch();
  }

  onProgress(revision: Revision): void {
    this.#cache.progress(revision);
    this.#dispatcher.endOverrun();
    this.#freshness.advanced();
  }

  /** Ends all watches, since the next list may hide events. Clients can start them again once it is complete. */
  onLost(): void {
    this.#readiness.setPending();
    this.#dispatcher.terminateAll('relist');
  }

  onError(error: unknown): void {
    this.#readiness.noteError(error);
  }
}
