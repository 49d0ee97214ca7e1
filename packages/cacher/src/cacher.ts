// Cacher is a Storage that answers reads and watches from memory, kept up to date by one watch on the Storage below.
// The registry is above it. The walk of one event: feed.ts → cache-updater.ts →
// watch-cache.ts and dispatcher.ts → cache-watcher.ts.

import {
  type Clock,
  type GroupResource,
  type KubernetesObject,
  type Logger,
  type Revision,
  silentLogger,
  systemClock,
} from '@kapstan/api';
import { formatGroupResource } from '@kapstan/api/internal';
import {
  type GetAttributes,
  type GuaranteedUpdateOptions,
  KeySpace,
  parseResourceVersion,
  type Storage,
  type StorageCreateOptions,
  type StorageDeleteOptions,
  StorageError,
  type StorageGetOptions,
  type StorageListOptions,
  type StorageStats,
  type StorageWatch,
  type StorageWatchOptions,
  type StorageWatchSink,
  type Stored,
  type StoredList,
  type TryUpdate,
  type UnreadableDeleteOptions,
} from '@kapstan/storage';
import { Bookmarks } from './bookmarks.ts';
import { CacheUpdater } from './cache-updater.ts';
import { CacheWatcher, type WatchStart } from './cache-watcher.ts';
import type { CacherInspection } from './cacher-inspection.ts';
import { isTraced, traced } from './cacher-trace.ts';
import { ConsistencyChecker, type ConsistencyStatus, defaultConsistencyPeriodMs } from './consistency-checker.ts';
import { Dispatcher } from './dispatcher.ts';
import { Feed } from './feed.ts';
import { Freshness } from './freshness.ts';
import { defaultHistoryWindowMs } from './history-ring.ts';
import { ListReader } from './list-reader.ts';
import { Readiness, stoppedError } from './readiness.ts';
import { WatchCache } from './watch-cache.ts';
import { watchStart } from './watch-start.ts';

/** Options of a {@link Cacher}: the amount of history that it keeps, by time, count and bytes. */
export interface CacherOptions<T extends KubernetesObject> {
  /** The storage to cache. Closing the cacher does not close it. */
  readonly storage: Storage<T>;
  /** Must be the same prefix as in the storage below. Default "/registry". */
  readonly keyPrefix?: string | undefined;
  /** Must be the same as in the storage below: "/pods". */
  readonly resourcePrefix: string;
  /** Name of the cached resource in traces. Default: the resource prefix without its slash. */
  readonly groupResource?: GroupResource | undefined;
  /**
   * Returns the labels and fields that selectors read. Called once per object; the predicates' own function is not
   * used.
   */
  readonly getAttributes: GetAttributes<T>;
  /** Fields, besides name and namespace, by which watches and lists are indexed: "spec.nodeName". Default none. */
  readonly indexedFields?: readonly string[] | undefined;
  /** Time for which events stay available to watches that resume, in milliseconds. At least 75 000, the default. */
  readonly historyWindowMs?: number | undefined;
  /** Minimum number of events for which there is room. Default 100. */
  readonly minHistory?: number | undefined;
  /**
   * Number of events for which there is room at first, `minHistory` to 102 400 (twice as many for twice the window). A
   * value outside that range is moved into it, with a warning when it is lowered. Default `minHistory`.
   */
  readonly initialHistory?: number | undefined;
  /**
   * Maximum number of bytes of past states kept for watches that resume, even if they are younger than the window.
   * Default 33 554 432.
   */
  readonly maxHistoryBytes?: number | undefined;
  /**
   * Minimum time between two comparisons with the storage below, in milliseconds. Up to half of it is added at random.
   * 0 = no comparisons. Default 300 000.
   */
  readonly consistencyPeriodMs?: number | undefined;
  /** Freezes all cached objects, for tests of I6. Default false. */
  readonly freeze?: boolean | undefined;
  readonly clock?: Clock | undefined;
  /** Source of random numbers in [0, 1), for the pauses between attempts. Default Math.random. */
  readonly random?: (() => number) | undefined;
  readonly logger?: Logger | undefined;
}

export class Cacher<T extends KubernetesObject> implements Storage<T> {
  readonly keys: KeySpace;
  readonly #storage: Storage<T>;
  readonly #logger: Logger;
  readonly #clock: Clock;
  readonly #type: string;
  readonly #cache: WatchCache<T>;
  readonly #updater: CacheUpdater<T>;
  readonly #feed: Feed<T>;
  readonly #dispatcher: Dispatcher<T>;
  readonly #bookmarks: Bookmarks<T>;
  readonly #freshness: Freshness;
  readonly #readiness: Readiness;
  readonly #lists: ListReader<T>;
  readonly #checker: ConsistencyChecker<T>;
  #isStarted = false;

  /**
   * Throws TypeError when the key prefix is not the storage's, the history window is too short, or `minHistory` exceeds
   * its maximum.
   */
  constructor(options: CacherOptions<T>) {
    const { storage, clock = systemClock, logger = silentLogger, historyWindowMs = defaultHistoryWindowMs } = options;
    if (historyWindowMs < defaultHistoryWindowMs) {
      throw new TypeError(`config.EventsHistoryWindow (${historyWindowMs / 1000}s) must not be below 1m15s`);
    }
    this.keys = new KeySpace(options);
    const below = (storage as { readonly keys?: unknown }).keys;
    if (below instanceof KeySpace && below.prefix !== this.keys.prefix) {
      throw new TypeError(
        `the cacher has keys below ${this.keys.prefix}, but its storage has keys below ${below.prefix}`,
      );
    }
    this.#storage = storage;
    this.#logger = logger;
    this.#clock = clock;
    this.#type = options.groupResource ? formatGroupResource(options.groupResource) : options.resourcePrefix.slice(1);
    const indexedFields = options.indexedFields ?? [];
    const { minHistory, initialHistory, maxHistoryBytes } = options;
    const capacities = { minCapacity: minHistory, initialCapacity: initialHistory, maxBytes: maxHistoryBytes };
    this.#cache = new WatchCache<T>({
      clock,
      getAttributes: options.getAttributes,
      indexedFields,
      history: { windowMs: historyWindowMs, ...capacities },
      freeze: options.freeze ?? false,
      logger,
    });
    const { capacity } = this.#cache.ring;
    if (initialHistory !== undefined && initialHistory > capacity) {
      const sizes = { prefix: this.keys.prefix, asked: initialHistory, capacity };
      logger.warn('the watch cache has room for fewer events than requested', sizes);
    }
    const triggers = [...indexedFields, 'metadata.name', 'metadata.namespace'];
    this.#dispatcher = new Dispatcher<T>({ ring: this.#cache.ring, indexedFields: triggers, clock, logger });
    const revision = (): Revision => this.#cache.revision;
    this.#bookmarks = new Bookmarks<T>({
      clock,
      revision: () => this.#dispatcher.reached(revision()),
    });
    this.#freshness = new Freshness({ clock, current: revision, requestProgress: () => this.#requestProgress() });
    this.#readiness = new Readiness(clock);
    this.#lists = new ListReader<T>({
      storage,
      cache: this.#cache,
      freshness: this.#freshness,
      readiness: this.#readiness,
      indexedFields,
    });
    const { random = Math.random } = options;
    const feedOptions = { storage, prefix: this.keys.prefix, clock, logger, random };
    this.#checker = new ConsistencyChecker<T>({
      ...feedOptions,
      cache: this.#cache,
      isReady: () => this.#readiness.isReady,
      periodMs: options.consistencyPeriodMs ?? defaultConsistencyPeriodMs,
    });
    this.#updater = new CacheUpdater<T>({
      cache: this.#cache,
      freshness: this.#freshness,
      dispatcher: this.#dispatcher,
      readiness: this.#readiness,
    });
    this.#feed = new Feed<T>(feedOptions, this.#updater);
  }

  /** Begins to fill the cache. A second call, or one after close, does nothing. */
  start(): void {
    if (this.#isStarted) return;
    this.#isStarted = true;
    this.#feed.start();
    this.#checker.start();
  }

  /** Compares the cache with the storage below now. Resolves to the outcome. */
  checkConsistency(): Promise<ConsistencyStatus> {
    return this.#checker.check();
  }

  /** Resolves when the cache may answer. */
  waitUntilReady(signal?: AbortSignal): Promise<void> {
    return this.#readiness.wait(signal);
  }

  create(key: string, object: T, options?: StorageCreateOptions): Promise<Stored<T>> {
    return this.#storage.create(key, object, options);
  }

  /**
   * Answers a read of the newest state from the storage below, which reads only if its state may differ and decodes
   * only if it does. Answers any other read from the cache.
   */
  get(key: string, options: StorageGetOptions<T> = {}): Promise<Stored<T> | undefined> {
    if (!isTraced(options)) return this.#get(key, options);
    const attributes = { key, 'resource-version': options.resourceVersion ?? '' };
    const call = { name: 'cacher.Get', attributes, clock: this.#clock, options };
    return traced(call, (span) => this.#get(key, { ...options, span }));
  }

  async #get(key: string, options: StorageGetOptions<T>): Promise<Stored<T> | undefined> {
    this.keys.single(key);
    this.#requireOpen();
    const { resourceVersion = '', span } = options;
    const known = this.#cache.store.get(key)?.stored;
    const isBelow = resourceVersion === '' || !this.#readiness.isReady;
    span?.addEvent(isBelow ? 'About to Get from underlying storage' : 'About to fetch object from cache');
    if (known !== undefined && resourceVersion === '' && this.#storage.isNewest?.(known, options) === true)
      return known;
    if (isBelow) return this.#storage.get(key, known === undefined ? options : { ...options, known });
    await this.#freshness.wait(parseResourceVersion(resourceVersion), resourceVersion);
    return this.#cache.store.get(key)?.stored;
  }

  getList(key: string, options: StorageListOptions<T>): Promise<StoredList<T>> {
    if (!isTraced(options)) return this.#getList(key, options);
    const call = { name: 'cacher.GetList', attributes: { type: this.#type }, clock: this.#clock, options };
    return traced(call, (span) => this.#getList(key, { ...options, span }));
  }

  async #getList(key: string, options: StorageListOptions<T>): Promise<StoredList<T>> {
    const checked = options.recursive ? this.keys.recursive(key) : this.keys.single(key);
    this.#requireOpen();
    return this.#lists.read(checked, options);
  }

  /** Tries the cached object first, if there is one, which may save a read. Compare-and-set keeps that correct. */
  delete(key: string, options: StorageDeleteOptions<T> = {}): Promise<Stored<T>> {
    const { cachedExisting: _theirs, ...rest } = options;
    return this.#storage.delete(key, { ...rest, ...this.#hint(key) });
  }

  deleteUnreadable(key: string, options?: UnreadableDeleteOptions): Promise<Revision> {
    return this.#storage.deleteUnreadable(key, options);
  }

  /** Tries the cached object first, like {@link delete}. */
  guaranteedUpdate(key: string, tryUpdate: TryUpdate<T>, options: GuaranteedUpdateOptions<T> = {}): Promise<Stored<T>> {
    const { cachedExisting: _theirs, ...rest } = options;
    return this.#storage.guaranteedUpdate(key, tryUpdate, { ...rest, ...this.#hint(key) });
  }

  watch(key: string, options: StorageWatchOptions<T>, sink: StorageWatchSink<T>): StorageWatch {
    const checked = options.recursive ? this.keys.recursive(key) : this.keys.single(key);
    const asked = parseResourceVersion(options.resourceVersion ?? '');
    if (!this.#readiness.isReady) throw this.#readiness.refusal();
    const watcher = new CacheWatcher<T>({
      key: checked,
      isRecursive: options.recursive,
      predicate: options.predicate,
      withPrevious: options.withPrevious === true,
      sink,
      logger: this.#logger,
      onClosed: (closed, reason) => {
        this.#dispatcher.remove(closed, reason);
        this.#bookmarks.remove(closed);
      },
    });
    this.#dispatcher.register(watcher);
    this.#begin(watcher, options, asked).catch((error: unknown) => {
      watcher.end('refused', error instanceof Error ? error : new Error(String(error)));
    });
    return watcher;
  }

  async stats(): Promise<StorageStats> {
    this.#requireOpen();
    if (!this.#readiness.isReady || !this.#storage.supportsProgressRequests) return this.#storage.stats();
    await this.#freshness.wait(await this.#storage.currentResourceVersion());
    const { size, storedBytes } = this.#cache.store;
    return { objectCount: size, averageObjectBytes: size === 0 ? 0 : Math.floor(storedBytes / size) };
  }

  currentResourceVersion(): Promise<Revision> {
    return this.#storage.currentResourceVersion();
  }

  readiness(): Error | undefined {
    if (this.#readiness.isReady) return this.#storage.readiness();
    return this.#readiness.state === 'stopped' ? stoppedError() : new StorageError({ code: 'NotReady' });
  }

  requestWatchProgress(): Promise<void> {
    return this.#storage.requestWatchProgress();
  }

  get supportsProgressRequests(): boolean {
    return this.#storage.supportsProgressRequests;
  }

  compactRevision(): Revision {
    return this.#storage.compactRevision();
  }

  /**
   * Refuses watches from before this revision from now on; running watches continue. Call it when the store below was
   * compacted, because a manual compaction is meant to remove the past everywhere.
   */
  forgetBefore(revision: Revision): void {
    this.#cache.forgetBefore(revision);
  }

  /** Returns the cache's present state, for people and metrics. */
  inspect(): CacherInspection {
    const { store, ring, revision, knownStates } = this.#cache;
    const { dispatched, initEvents, ended } = this.#dispatcher.counters;
    const scopes = this.#dispatcher.scopes();
    return {
      state: this.#readiness.state,
      revision,
      objects: store.size,
      loading: this.#feed.staged,
      storedBytes: store.storedBytes,
      history: {
        size: ring.size,
        capacity: ring.capacity,
        oldestRevision: ring.oldest?.revision ?? 0,
        newestRevision: ring.at(ring.end - 1)?.revision ?? 0,
      },
      pastStates: knownStates,
      watchers: this.#dispatcher.watcherCount,
      watchersByScope: scopes,
      catchingUp: scopes.reduce((sum, { catchingUp }) => sum + catchingUp, 0),
      backlog: this.#dispatcher.backlog,
      waiting: this.#freshness.waiting,
      bookmarked: this.#bookmarks.scheduled,
      lastError: this.#readiness.lastError,
      counters: {
        eventsReceived: this.#updater.eventsReceived,
        eventsDispatched: dispatched,
        initEvents,
        initializations: this.#readiness.generation,
        initializationErrors: this.#feed.listErrors,
        ended: { ...ended },
        ...this.#lists.inspect(),
        consistencyChecks: { ...this.#checker.counters },
        historyIncreases: ring.resizes.increases,
        historyDecreases: ring.resizes.decreases,
      },
      durations: {
        readWait: this.#freshness.waits.counts(),
        initialization: this.#feed.initializations.counts(),
        dispatch: this.#dispatcher.latency.counts(),
      },
    };
  }

  /**
   * Ends all watches without an error, fails all waiting calls, refuses further reads. Idempotent. The storage below
   * stays open.
   */
  async close(): Promise<void> {
    this.#readiness.stop();
    this.#feed.close();
    this.#checker.close();
    this.#dispatcher.terminateAll('stopped');
    this.#freshness.close(stoppedError());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #begin(watcher: CacheWatcher<T>, options: StorageWatchOptions<T>, asked: Revision): Promise<void> {
    const context = { cache: this.#cache, freshness: this.#freshness, storage: this.#storage };
    const starting = (): Promise<() => WatchStart<T>> => watchStart(context, { key: watcher.key, options, asked });
    const call = { name: 'cacher.Watch', attributes: { type: this.#type }, clock: this.#clock, options };
    const takeStart = await (isTraced(options) ? traced(call, starting) : starting());
    // The client or a relist closed it. Events may be missing, so the client has to ask again.
    if (watcher.isClosed) return;
    watcher.begin(takeStart());
    this.#dispatcher.start(watcher);
    if (options.predicate.allowWatchBookmarks) this.#bookmarks.add(watcher, options.deadlineMs);
  }

  #hint(key: string): { readonly cachedExisting: Stored<T> | undefined } {
    return { cachedExisting: this.#cache.store.get(key)?.stored };
  }

  #requestProgress(): void {
    if (!this.#storage.supportsProgressRequests) return;
    this.#storage.requestWatchProgress().catch((error: unknown) => this.#readiness.noteError(error));
  }

  #requireOpen(): void {
    if (this.#readiness.state === 'stopped') throw stoppedError();
  }
}
