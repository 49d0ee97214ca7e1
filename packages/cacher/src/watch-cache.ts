// WatchCache: present state and history of one resource, always at one revision. Fed by feed.ts, read by cacher.ts and
// by watchers. spec/storage.md §3.3 to §3.7.
import {
  type Clock,
  deepFreeze,
  type KubernetesObject,
  type Logger,
  newExpired,
  newInternalError,
  type Revision,
} from '@kapstan/api';
import type { Attributes, GetAttributes, StorageEvent, Stored } from '@kapstan/storage';
import { type CacheEntry, CacheEvent } from './cache-entry.ts';
import { HistoryRing, type HistoryRingOptions } from './history-ring.ts';
import { IndexedStore } from './indexed-store.ts';

export interface WatchCacheOptions<T extends KubernetesObject> {
  readonly clock: Clock;
  readonly getAttributes: GetAttributes<T>;
  readonly indexedFields: readonly string[];
  readonly history: HistoryRingOptions;
  readonly freeze: boolean;
  readonly logger: Logger;
}

const noAttributes: Attributes = { labels: {}, fields: {} };

type ChangeEvent<T extends KubernetesObject> = Exclude<StorageEvent<T>, { type: 'BOOKMARK' }>;

export class WatchCache<T extends KubernetesObject> {
  readonly store: IndexedStore<T>;
  readonly ring: HistoryRing<T>;
  readonly #options: WatchCacheOptions<T>;
  // Invariant: store and ring reflect exactly the changes up to this revision.
  #revision = 0 as Revision;
  #listRevision = 0 as Revision;
  #forgottenRevision = 0 as Revision;

  constructor(options: WatchCacheOptions<T>) {
    this.#options = options;
    this.store = new IndexedStore<T>(options.indexedFields);
    this.ring = new HistoryRing<T>(options.history);
  }

  /** 0 before the first list. */
  get revision(): Revision {
    return this.#revision;
  }

  // Atomic: map, indexes and ring move to the revision of the event together, before anyone hears of it (I2).
  apply(event: ChangeEvent<T>): CacheEvent<T> {
    const { stored } = event;
    const { key, revision } = stored;
    const timeMs = this.#options.clock.monotonicNow();
    if (event.type === 'DELETED') {
      const previous = this.store.delete(key) ?? this.#entryOf(stored);
      return this.#record(new CacheEvent({ key, revision, timeMs, previous }));
    }
    const current = this.#entryOf(stored);
    const previous = this.store.put(current);
    return this.#record(
      new CacheEvent({ key, revision, timeMs, current, ...(previous === undefined ? {} : { previous }) }),
    );
  }

  /** Everything up to this revision has been applied. */
  progress(revision: Revision): void {
    if (revision > this.#revision) this.#revision = revision;
  }

  // Atomic: the whole state changes at once; there is no history from before.
  replace(items: readonly Stored<T>[], revision: Revision): void {
    this.store.replace(items.map((stored) => this.#entryOf(stored)));
    this.ring.clear();
    this.#listRevision = revision;
    this.#revision = revision;
  }

  /**
   * Position in the ring from which all events after a revision can be read. Throws 410 when some of them are gone.
   * The numbers in the text are those of kube-apiserver.
   */
  positionAfter(revision: Revision): number {
    const oldest = this.#oldestRevision();
    if (revision < oldest - 1) throw newExpired(`too old resource version: ${revision} (${oldest - 1})`);
    return this.ring.firstAfter(revision);
  }

  /** A watch from before this revision is answered with 410, though the ring may know what came after it. */
  forgetBefore(revision: Revision): void {
    if (revision > this.#forgottenRevision) this.#forgottenRevision = revision;
  }

  #oldestRevision(): number {
    return Math.max(this.#oldestKnownRevision(), this.#forgottenRevision + 1);
  }

  #oldestKnownRevision(): number {
    if (this.#listRevision > 0 && !this.ring.hasEvicted) return this.#listRevision + 1;
    const { oldest } = this.ring;
    if (oldest === undefined) throw newInternalError("watch cache isn't correctly initialized");
    return oldest.revision;
  }

  #entryOf(stored: Stored<T>): CacheEntry<T> {
    if (this.#options.freeze) deepFreeze(stored.object);
    return { key: stored.key, stored, attributes: this.#attributesOf(stored) };
  }

  /** An object whose attributes cannot be read stays visible to those who select nothing. */
  #attributesOf(stored: Stored<T>): Attributes {
    try {
      return this.#options.getAttributes(stored.object);
    } catch (error) {
      this.#options.logger.error('the attributes of an object cannot be read', { key: stored.key, error });
      return noAttributes;
    }
  }

  #record(event: CacheEvent<T>): CacheEvent<T> {
    this.ring.push(event);
    this.#revision = event.revision;
    return event;
  }
}
