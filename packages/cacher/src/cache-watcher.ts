// CacheWatcher: one watch on the cache: the present state if asked for, what the ring holds, then live events.
// Driven by dispatcher.ts. Source: apiserver storage/cacher/cache_watcher.go and watch_cache_interval.go.
import type { KubernetesObject, Logger, Revision } from '@kapstan/api';
import {
  isEverything,
  matchesAttributes,
  type SelectionPredicate,
  type StorageEvent,
  type StorageWatch,
  type StorageWatchSink,
} from '@kapstan/storage';
import type { CacheEntry, CacheEvent } from './cache-entry.ts';
import type { HistoryRing } from './history-ring.ts';

/** Where a watch begins. */
export interface WatchStart<T extends KubernetesObject> {
  /** Objects to send as ADDED first. */
  readonly initial: readonly CacheEntry<T>[];
  /** Revision of `initial`, or the asked one: events up to it are not sent. */
  readonly revision: Revision;
  /** Ring position of the first event to look at. */
  readonly position: number;
  /** End the initial objects with a bookmark. */
  readonly endsWithBookmark: boolean;
}

/**
 * Why the cache ended a watch: it lists anew; the history moved past the reader; the sink threw; the watch could not begin;
 * the cache was closed.
 */
export type EndReason = 'relist' | 'overrun' | 'failed' | 'refused' | 'stopped';

export interface CacheWatcherInit<T extends KubernetesObject> {
  /** A key, or with `isRecursive` a prefix that ends with a slash. */
  readonly key: string;
  readonly isRecursive: boolean;
  readonly predicate: SelectionPredicate<T>;
  readonly sink: StorageWatchSink<T>;
  readonly logger: Logger;
  /** Without a reason when the client closed it. */
  readonly onClosed: (watcher: CacheWatcher<T>, reason?: EndReason) => void;
}

export class CacheWatcher<T extends KubernetesObject> implements StorageWatch {
  readonly key: string;
  readonly isRecursive: boolean;
  readonly predicate: SelectionPredicate<T>;
  readonly #sink: StorageWatchSink<T>;
  readonly #logger: Logger;
  readonly #onClosed: CacheWatcherInit<T>['onClosed'];
  readonly #everything: boolean;
  #start: WatchStart<T> | undefined;
  #sent = 0;
  #position = 0;
  #after = 0 as Revision;
  /** Of the last past event that was looked at. Not `#after`: others of its revision may follow. */
  #knows = 0 as Revision;
  #isLive = false;
  #isClosed = false;

  constructor(init: CacheWatcherInit<T>) {
    this.key = init.key;
    this.isRecursive = init.isRecursive;
    this.predicate = init.predicate;
    this.#sink = init.sink;
    this.#logger = init.logger;
    this.#onClosed = init.onClosed;
    this.#everything = isEverything(init.predicate);
  }

  /** True: gets each event when it happens. False: still reads what is past. */
  get isLive(): boolean {
    return this.#isLive;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** True while initial objects wait here for a slow reader. Later events wait in the ring meanwhile. */
  get isHeldBack(): boolean {
    return this.#start !== undefined && this.#sink.isFull === true;
  }

  /** Calls back once, when the reader of a watch that is held back takes more. */
  whenRoom(callback: () => void): void {
    this.#sink.onRoom = callback;
  }

  begin(start: WatchStart<T>): void {
    this.#start = start;
    this.#position = start.position;
    this.#after = start.revision;
  }

  /** True: the ring moved past this reader, which has to resume from the last version that it saw. */
  isOverrun(ring: HistoryRing<T>): boolean {
    return this.#position < ring.start;
  }

  /** Objects and events between this reader and the end of the ring. */
  behind(ring: HistoryRing<T>): number {
    return (this.#start?.initial.length ?? this.#sent) - this.#sent + Math.max(0, ring.end - this.#position);
  }

  /**
   * Sends up to `limit` objects or past events; returns how many it looked at. The watcher is live as soon as it has all
   * before ring position `until`, which others have not been offered yet: nothing falls between the two and nothing comes
   * twice (I3).
   */
  catchUp(ring: HistoryRing<T>, { limit, until }: { readonly limit: number; readonly until: number }): number {
    let looked = this.#sendInitial(limit);
    while (looked < limit && this.#start === undefined && !this.#isClosed && this.#position < until) {
      const event = ring.at(this.#position++);
      looked++;
      if (event === undefined) continue;
      if (this.#covers(event.key)) this.offer(event);
      this.#knows = event.revision;
    }
    this.#isLive = this.#start === undefined && this.#position >= until && !this.#isClosed;
    return looked;
  }

  /** Sends what the event means under this watch's selector, if anything. The key is known to be in scope. */
  offer(event: CacheEvent<T>): void {
    if (event.revision <= this.#after) return;
    const { current, previous } = event;
    const passes = current !== undefined && this.#selects(current);
    const passed = previous !== undefined && this.#selects(previous);
    if (passes) this.#emit(event.as(passed ? 'MODIFIED' : 'ADDED'));
    else if (passed) this.#emit(event.as('DELETED'));
  }

  /**
   * True: the watch began at this revision, caught up to it, or was told of it by a bookmark. Live events do not count.
   * Source: cache_watcher.go processInterval, which moves its version over past events, selected or not, and process.
   */
  knowsRevision(revision: Revision): boolean {
    return revision <= this.#after || revision <= this.#knows;
  }

  /** Tells a live watch that it has seen everything up to the revision. Versions never go back, so an older one is not told. */
  bookmark(revision: Revision): void {
    if (revision < this.#after) return;
    this.#after = revision;
    this.#emit({ type: 'BOOKMARK', revision, initialEventsEnd: false });
  }

  close(): void {
    this.#close();
  }

  /** Closes for a reason and tells the sink: with an error, or in peace. */
  end(reason: EndReason, error?: Error): void {
    if (this.#isClosed) return;
    this.#close(reason);
    try {
      this.#sink.onEnd(error);
    } catch (thrown) {
      this.#logger.error('a watch sink threw at its end', { key: this.key, error: thrown });
    }
  }

  #close(reason?: EndReason): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#isLive = false;
    this.#start = undefined;
    this.#onClosed(this, reason);
  }

  #sendInitial(limit: number): number {
    const start = this.#start;
    if (start === undefined) return 0;
    let looked = 0;
    for (; looked < limit && this.#sent < start.initial.length && !this.#isClosed && !this.isHeldBack; looked++) {
      const entry = start.initial[this.#sent++];
      if (entry !== undefined && this.#selects(entry)) this.#emit({ type: 'ADDED', stored: entry.stored });
    }
    if (this.#isClosed || this.#sent < start.initial.length) return looked;
    if (start.endsWithBookmark) this.#emit({ type: 'BOOKMARK', revision: start.revision, initialEventsEnd: true });
    this.#start = undefined;
    return looked;
  }

  #covers(key: string): boolean {
    return this.isRecursive ? key.startsWith(this.key) : key === this.key;
  }

  #selects(entry: CacheEntry<T>): boolean {
    return this.#everything || matchesAttributes(this.predicate, entry.attributes);
  }

  #emit(event: StorageEvent<T>): void {
    if (this.#isClosed) return;
    try {
      this.#sink.onEvent(event);
    } catch (error) {
      this.#logger.error('a watch sink threw; its watch ends', { key: this.key, error });
      this.end('failed', error instanceof Error ? error : new Error(String(error)));
    }
  }
}
