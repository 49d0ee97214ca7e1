// CacheWatcher is one watch on the cache: it sends the present state if requested, then events from the ring, then live
// events. Driven by dispatcher.ts. Source: apiserver storage/cacher/cache_watcher.go and watch_cache_interval.go.
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

/** The state from which a watch begins. */
export interface WatchStart<T extends KubernetesObject> {
  /** Objects to send first, as ADDED. */
  readonly initial: readonly CacheEntry<T>[];
  /** Revision of `initial`, or the requested one. Events up to it are not sent. */
  readonly revision: Revision;
  /** Ring position of the first event to examine. */
  readonly position: number;
  /** True: a bookmark ends the initial objects. */
  readonly endsWithBookmark: boolean;
}

/**
 * The reason why the cache ended a watch: 'relist', it lists again; 'overrun', the history moved past the reader;
 * 'failed', the sink threw; 'refused', the watch could not begin; 'stopped', the cache was closed.
 */
export type EndReason = 'relist' | 'overrun' | 'failed' | 'refused' | 'stopped';

export interface CacheWatcherInit<T extends KubernetesObject> {
  /** A key, or with `isRecursive` a prefix that ends with a slash. */
  readonly key: string;
  readonly isRecursive: boolean;
  readonly predicate: SelectionPredicate<T>;
  /** True: MODIFIED events carry the state before them. */
  readonly withPrevious?: boolean;
  readonly sink: StorageWatchSink<T>;
  readonly logger: Logger;
  /** Called when the watch is closed, without a reason if the client closed it. */
  readonly onClosed: (watcher: CacheWatcher<T>, reason?: EndReason) => void;
}

export class CacheWatcher<T extends KubernetesObject> implements StorageWatch {
  readonly key: string;
  readonly isRecursive: boolean;
  readonly predicate: SelectionPredicate<T>;
  readonly begun: Promise<void>;
  readonly #sink: StorageWatchSink<T>;
  readonly #logger: Logger;
  readonly #onClosed: CacheWatcherInit<T>['onClosed'];
  readonly #everything: boolean;
  readonly #withPrevious: boolean;
  #start: WatchStart<T> | undefined;
  #sent = 0;
  #position = 0;
  #after = 0 as Revision;
  /**
   * Revision of the last past event examined. Not stored in `#after`, because more events of that revision may follow.
   */
  #knows = 0 as Revision;
  #isLive = false;
  #isClosed = false;
  #noteBegun: () => void = () => undefined;

  constructor(init: CacheWatcherInit<T>) {
    this.key = init.key;
    this.isRecursive = init.isRecursive;
    this.predicate = init.predicate;
    this.#sink = init.sink;
    this.#logger = init.logger;
    this.#onClosed = init.onClosed;
    this.#everything = isEverything(init.predicate);
    this.#withPrevious = init.withPrevious === true;
    this.begun = new Promise((resolve) => {
      this.#noteBegun = resolve;
    });
  }

  /** True: the watch gets each event as it happens. False: it still reads past events. */
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
    this.#noteBegun();
  }

  /** Returns true when the ring has moved past this reader, which then has to resume from its last version. */
  isOverrun(ring: HistoryRing<T>): boolean {
    return this.#position < ring.start;
  }

  /** Returns the number of objects and events between this reader and the end of the ring. */
  behind(ring: HistoryRing<T>): number {
    return (this.#start?.initial.length ?? this.#sent) - this.#sent + Math.max(0, ring.end - this.#position);
  }

  /**
   * Sends up to `limit` objects or past events; returns how many it examined. The watcher goes live once it has
   * everything before ring position `until`, from which on live watchers have not been offered any event. So no event
   * is lost in between and none is sent twice (I3).
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

  /**
   * Sends the event as this watch's selector sees it, if it matters to the watch. The caller has checked that the key
   * is in scope.
   */
  offer(event: CacheEvent<T>): void {
    if (event.revision <= this.#after) return;
    const { current, previous } = event;
    const passes = current !== undefined && this.#selects(current);
    const passed = previous !== undefined && this.#selects(previous);
    if (passes && passed && this.#withPrevious)
      this.#emit({ type: 'MODIFIED', stored: current.stored, previous: previous.stored });
    else if (passes) this.#emit(event.as(passed ? 'MODIFIED' : 'ADDED'));
    else if (passed) this.#emit(event.as('DELETED'));
  }

  /**
   * Returns true when the watch began at this revision, caught up to it, or got a bookmark of it; live events do not
   * count. Source: cache_watcher.go processInterval, where past events that are not selected count too.
   */
  knowsRevision(revision: Revision): boolean {
    return revision <= this.#after || revision <= this.#knows;
  }

  /**
   * Tells a live watch that it has seen everything up to the revision. Versions never go back, so an older one is
   * skipped.
   */
  bookmark(revision: Revision): void {
    if (revision < this.#after) return;
    this.#after = revision;
    this.#emit({ type: 'BOOKMARK', revision, initialEventsEnd: false });
  }

  close(): void {
    this.#close();
  }

  /** Closes the watch for a reason and notifies the sink, with or without an error. */
  end(reason: EndReason, error?: Error): void {
    if (this.#isClosed) return;
    this.#close(reason);
    try {
      this.#sink.onEnd(error);
    } catch (thrown) {
      this.#logger.error('a watch sink threw while its watch was ended', { key: this.key, error: thrown });
    }
  }

  #close(reason?: EndReason): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#noteBegun();
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
