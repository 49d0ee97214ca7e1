// WatchCache holds the present state and the history of one resource, always at one revision. Fed by cache-updater.ts, read by
// cacher.ts and by watchers. Source: apiserver storage/cacher/watch_cache.go.
import type { Clock, KubernetesObject, Logger, Revision } from '@kapstan/api';
import { expired, internalError } from '@kapstan/api/errors';
import { deepFreeze } from '@kapstan/api/internal';
import type { Attributes, ChangeEvent, GetAttributes, KeyRange, Stored } from '@kapstan/storage';
import { type CacheEntry, CacheEvent } from './cache-entry.ts';
import { HistoryRing, type HistoryRingOptions } from './history-ring.ts';
import { IndexedStore } from './indexed-store.ts';
import { UndoneHistory } from './undone-history.ts';

export interface WatchCacheOptions<T extends KubernetesObject> {
  readonly clock: Clock;
  readonly getAttributes: GetAttributes<T>;
  readonly indexedFields: readonly string[];
  readonly history: HistoryRingOptions;
  readonly freeze: boolean;
  readonly logger: Logger;
}

/**
 * Number of newest changes, and bytes of their objects, that stay parsed. Objects that are written again and again are
 * then at hand, while 20,000 objects created one after the other do not keep 120 MB of parsed pods.
 */
const parsedChanges = 2_000;
const parsedBytes = 8_388_608;

const noAttributes: Attributes = { labels: {}, fields: {} };

export class WatchCache<T extends KubernetesObject> {
  readonly store: IndexedStore<T>;
  readonly ring: HistoryRing<T>;
  readonly #undone: UndoneHistory<T>;
  readonly #options: WatchCacheOptions<T>;
  // Invariant: store and ring reflect exactly the changes up to this revision.
  #revision = 0 as Revision;
  #listRevision = 0 as Revision;
  #forgottenRevision = 0 as Revision;
  #pastStates = true;
  #trustedRevision = 0 as Revision;
  /** Ring position of the first event whose objects are still parsed, and the bytes of the objects from there on. */
  #parsedFrom = 0;
  #parsedBytes = 0;

  constructor(options: WatchCacheOptions<T>) {
    this.#options = options;
    this.store = new IndexedStore<T>(options.indexedFields);
    // The objects of a dropped event are rarely read again, so their parsed form is dropped too.
    this.ring = new HistoryRing<T>(options.history, (event) => this.#release(event));
    this.#undone = new UndoneHistory<T>(this.ring);
  }

  /** The revision of state and history; 0 before the first list. */
  get revision(): Revision {
    return this.#revision;
  }

  // Atomic: map, indexes and ring change to the event's revision together, before any reader can see it (I2).
  apply(event: ChangeEvent<T>): CacheEvent<T> {
    const { stored } = event;
    const { key, revision } = stored;
    const timeMs = this.#options.clock.monotonicNow();
    if (event.type === 'DELETED') {
      const previous = this.store.delete(key) ?? this.#entryOf(stored);
      if (this.#options.freeze) deepFreeze(stored.object);
      return this.#record(new CacheEvent({ key, revision, timeMs, previous, lastState: stored }));
    }
    const current = this.#entryOf(stored);
    const previous = this.store.put(current);
    return this.#record(new CacheEvent({ key, revision, timeMs, current, previous }));
  }

  /** Notes that everything up to this revision has been applied. */
  progress(revision: Revision): void {
    if (revision > this.#revision) this.#revision = revision;
    this.ring.trim(this.#options.clock.monotonicNow());
    this.#undone.trim();
  }

  /**
   * Returns an entry for {@link replace}. It keeps only the bytes of a listed object, because most are never read
   * (decision 0013).
   */
  listed(stored: Stored<T>): CacheEntry<T> {
    const entry = this.#entryOf(stored);
    stored.release();
    return entry;
  }

  // Atomic: the whole state changes at once, and the earlier history is dropped.
  replace(entries: readonly CacheEntry<T>[], revision: Revision): void {
    this.store.replace(entries);
    this.ring.clear();
    this.#parsedFrom = this.ring.end;
    this.#parsedBytes = 0;
    this.#undone.trim();
    this.#trustedRevision = 0 as Revision;
    this.#listRevision = revision;
    this.#revision = revision;
  }

  /**
   * Returns the ring position from which all events after a revision can be read. Throws a 410 when some of them are
   * gone. Its text has the same numbers as kube-apiserver's.
   */
  positionAfter(revision: Revision): number {
    const oldest = this.#oldestRevision();
    if (revision < oldest - 1) throw expired(`too old resource version: ${revision} (${oldest - 1})`);
    return this.ring.firstAfter(revision);
  }

  /** False while {@link markConsistent} has reported a difference: only the present is served. */
  get pastStates(): boolean {
    return this.#pastStates;
  }

  /**
   * Records whether the cache was found equal to the storage. While it differs, no past state is served; once it is
   * equal again, only later states are served.
   */
  markConsistent(isConsistent: boolean): void {
    if (isConsistent && !this.#pastStates) this.#trustedRevision = this.#revision;
    this.#pastStates = isConsistent;
  }

  /** Returns whether {@link stateAt} can answer for this revision. */
  knowsState(revision: Revision): boolean {
    if (!this.#pastStates || this.#listRevision === 0 || revision > this.#revision) return false;
    return revision >= this.#oldestState();
  }

  /** The oldest and newest past revision whose state is known. Undefined when there is none. */
  get knownStates(): { readonly oldest: number; readonly newest: number } | undefined {
    if (!this.knowsState(this.#revision)) return undefined;
    return { oldest: this.#oldestState(), newest: this.#revision };
  }

  /**
   * Returns the entries with start <= key < end at a revision, in order: the present with the later changes undone, so
   * keeping past states costs nothing. Undefined when the history does not reach back far enough.
   */
  stateAt(revision: Revision, range: KeyRange): CacheEntry<T>[] | undefined {
    if (!this.knowsState(revision)) return undefined;
    const { store } = this;
    const present = store.range(range.start, range.end);
    const before = this.#undone.since(revision);
    if (before.size === 0) return present;
    const kept: CacheEntry<T>[] = [];
    for (const entry of present) {
      const was = before.has(entry.key) ? before.get(entry.key) : entry;
      if (was !== undefined) kept.push(was);
    }
    const gone: CacheEntry<T>[] = [];
    for (const [key, was] of before) {
      if (was === undefined || store.get(key) !== undefined) continue;
      if (store.compareKeys(key, range.start) >= 0 && store.compareKeys(key, range.end) < 0) gone.push(was);
    }
    return gone.length === 0 ? kept : kept.concat(gone).sort((a, b) => store.compareKeys(a.key, b.key));
  }

  /** Refuses watches from before this revision with 410, even if the ring still has their events. */
  forgetBefore(revision: Revision): void {
    if (revision > this.#forgottenRevision) this.#forgottenRevision = revision;
  }

  #oldestState(): number {
    return Math.max(this.#oldestRevision() - 1, this.#trustedRevision);
  }

  #oldestRevision(): number {
    return Math.max(this.#oldestKnownRevision(), this.#forgottenRevision + 1);
  }

  #oldestKnownRevision(): number {
    if (this.#listRevision > 0 && !this.ring.hasEvicted) return this.#listRevision + 1;
    const { oldest } = this.ring;
    if (oldest === undefined) throw internalError("watch cache isn't correctly initialized");
    return oldest.revision;
  }

  #entryOf(stored: Stored<T>): CacheEntry<T> {
    if (this.#options.freeze) deepFreeze(stored.object);
    return { key: stored.key, stored, attributes: this.#attributesOf(stored) };
  }

  /**
   * Returns the object's labels and fields. One whose attributes cannot be read stays visible to watches and lists
   * without selectors.
   */
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
    this.#parsedBytes += event.bytes;
    this.#releaseOld();
    this.#undone.trim();
    this.#revision = event.revision;
    return event;
  }

  /**
   * Drops the parsed objects of old events. Events that live watchers have not been offered yet stay parsed, so that
   * their encodings are made once for all of them.
   */
  #releaseOld(): void {
    const { ring } = this;
    const unread = ring.unread();
    this.#parsedFrom = Math.max(this.#parsedFrom, ring.start);
    for (; this.#parsedFrom < unread; this.#parsedFrom++) {
      if (ring.end - this.#parsedFrom <= parsedChanges && this.#parsedBytes <= parsedBytes) return;
      const event = ring.at(this.#parsedFrom);
      if (event !== undefined) this.#release(event);
    }
  }

  #release(event: CacheEvent<T>): void {
    if (!event.isReleased) this.#parsedBytes -= event.bytes;
    event.release();
  }
}
