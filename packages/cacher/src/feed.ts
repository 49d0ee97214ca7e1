// Feed lists and watches the storage below, again after every failure. It is a driver of the list/watch machine of
// `api`, as the informers' reflector is. A Storage is below it, cache-updater.ts above. Source: apiserver
// storage/cacher/cacher.go (startCaching) and lister_watcher.go.
import {
  type CancelTimer,
  type Clock,
  everyField,
  everyLabel,
  type KubernetesObject,
  type Logger,
  type Revision,
} from '@kapstan/api';
import {
  createListWatchState,
  DurationHistogram,
  formatRevision,
  type ListWatchEffect,
  type ListWatchInput,
  type ListWatchState,
  listWatchFailureOf,
  parseRevision,
  stepListWatch,
} from '@kapstan/api/internal';
import {
  type ChangeEvent,
  isStorageError,
  type SelectionPredicate,
  type Storage,
  type StorageEvent,
  type StorageWatch,
  type StorageWatchSink,
  type Stored,
  type StoredList,
} from '@kapstan/storage';
import type { CacheEntry } from './cache-entry.ts';
import { initializationBounds } from './histogram-bounds.ts';
import { setSharedTimer } from './shared-timer.ts';

type ListWatchFailure = ReturnType<typeof listWatchFailureOf>;

const pageSize = 10_000;
// Retries are quick: the storage is in this process or one hop away, and clients are refused while the cache is not
// ready.
const backoff = { initialMs: 100, maxMs: 10_000, factor: 2, jitter: 1, resetAfterMs: 60_000 };
const idleTimeoutMs = 90_000;
// Well below the idle timeout, so that the watch of a quiet resource is not taken for a dead one.
const progressPeriodMs = 30_000;

/** The receiver of a feed. Calls are synchronous and never nested. */
export interface FeedSink<T extends KubernetesObject> {
  /** Delivers an object of a list under way, as soon as its page has arrived. */
  onListed(stored: Stored<T>): CacheEntry<T>;
  /** Delivers the whole state after a list: the entries that {@link onListed} returned. */
  onReplace(entries: readonly CacheEntry<T>[], revision: Revision): void;
  onChange(event: ChangeEvent<T>): void;
  /** Reports that everything up to the revision has been reported. */
  onProgress(revision: Revision): void;
  /** Reports that the watch broke and cannot be resumed, so events may be missed until the next {@link onReplace}. */
  onLost(): void;
  onError(error: unknown): void;
}

export interface FeedOptions<T extends KubernetesObject> {
  readonly storage: Storage<T>;
  /** Prefix of the resource, with a slash at its end. */
  readonly prefix: string;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
}

export class Feed<T extends KubernetesObject> implements StorageWatchSink<T> {
  /** Time from the first page of a list to the filled cache. */
  readonly initializations: DurationHistogram = new DurationHistogram(initializationBounds);
  readonly #options: FeedOptions<T>;
  readonly #sink: FeedSink<T>;
  readonly #abort = new AbortController();
  #state: ListWatchState;
  #staged: CacheEntry<T>[] = [];
  #listedSinceMs = 0;
  #listErrors = 0;
  #watch: StorageWatch | undefined;
  /** True once progress is requested regularly, so that a silent watch must be dead. */
  #asksForProgress = false;
  #cancelWait: CancelTimer | undefined;
  #cancelWatchdog: CancelTimer | undefined;
  #cancelProgress: CancelTimer | undefined;

  constructor(options: FeedOptions<T>, sink: FeedSink<T>) {
    this.#options = options;
    this.#sink = sink;
    const machine = { useWatchList: false, pageSize, backoff, idleTimeoutMs };
    this.#state = createListWatchState(machine, options.clock.monotonicNow());
  }

  /** Number of objects read by the list under way. 0 = no list is under way. */
  get staged(): number {
    return this.#staged.length;
  }

  /** Number of lists that failed. It never goes down. */
  get listErrors(): number {
    return this.#listErrors;
  }

  start(): void {
    if (this.#state.phase !== 'idle') return;
    this.#input({ type: 'start' });
    this.#keepAskingForProgress();
  }

  close(): void {
    this.#input({ type: 'close' });
  }

  #input(input: ListWatchInput): void {
    const moment = { nowMs: this.#options.clock.monotonicNow(), random: this.#options.random() };
    const before = this.#state;
    const { state, effects } = stepListWatch(before, input, moment);
    this.#state = state;
    if (before.phase === 'watching' && needsList(state)) this.#sink.onLost();
    for (const effect of effects) this.#perform(effect);
  }

  #perform(effect: ListWatchEffect): void {
    switch (effect.type) {
      case 'list':
        return this.#list(effect);
      case 'watch':
        return this.#openWatch(effect.resourceVersion);
      case 'closeWatch':
        return this.#closeWatch();
      case 'replace':
        return this.#replace(effect.resourceVersion);
      case 'wait':
        this.#cancelWait = this.#options.clock.setBackgroundTimer(
          () => this.#input({ type: 'waited' }),
          effect.delayMs,
        );
        return;
      case 'watchdog':
        return this.#guard(effect.delayMs);
      case 'status':
        return this.#report(effect);
      case 'stop':
        return this.#stop();
    }
  }

  /**
   * Lists at the newest revision, whatever version the machine asks for, because the cache must not go back in time.
   */
  #list(effect: Extract<ListWatchEffect, { type: 'list' }>): void {
    if (effect.continue === undefined) {
      this.#staged = [];
      this.#listedSinceMs = this.#options.clock.monotonicNow();
    }
    const predicate = { ...everything<T>(), limit: effect.limit, continue: effect.continue ?? '' };
    const { storage, prefix } = this.#options;
    storage.getList(prefix, { predicate, recursive: true, signal: this.#abort.signal }).then(
      (page) => this.#onPage(page),
      (error: unknown) => this.#onListFailure(error),
    );
  }

  /** Adds a page. If the sink throws, this list fails and is tried again; otherwise nobody would ever list again. */
  #onPage(page: StoredList<T>): void {
    try {
      for (const item of page.items) this.#staged.push(this.#sink.onListed(item));
    } catch (error) {
      return this.#onListFailure(error);
    }
    this.#input({ type: 'listed', resourceVersion: page.resourceVersion, continue: page.continue });
  }

  #onListFailure(error: unknown): void {
    this.#listErrors++;
    this.#input({ type: 'listFailed', failure: failureOf(error) });
  }

  #replace(resourceVersion: string): void {
    const entries = this.#staged;
    this.#staged = [];
    this.initializations.observe(this.#options.clock.monotonicNow() - this.#listedSinceMs);
    this.#sink.onReplace(entries, parseRevision(resourceVersion) ?? (0 as Revision));
  }

  #openWatch(resourceVersion: string): void {
    this.#closeWatch();
    const predicate = { ...everything<T>(), allowWatchBookmarks: true };
    const options = { resourceVersion, predicate, recursive: true, progressNotify: true };
    try {
      this.#watch = this.#options.storage.watch(this.#options.prefix, options, this);
    } catch (error) {
      // The input is deferred, because the effects of the machine's last step are still being performed.
      queueMicrotask(() => this.#input({ type: 'watchFailed', failure: failureOf(error) }));
    }
  }

  // The storage calls the next two methods.

  onEvent(event: StorageEvent<T>): void {
    if (event.type === 'BOOKMARK') {
      this.#sink.onProgress(event.revision);
      this.#input({ type: 'bookmark', resourceVersion: formatRevision(event.revision), initialEventsEnd: false });
      return;
    }
    this.#sink.onChange(event);
    const resourceVersion = formatRevision(event.stored.revision);
    this.#input({ type: 'event', isAdded: event.type === 'ADDED', resourceVersion });
  }

  onEnd(error?: Error): void {
    this.#input(error === undefined ? { type: 'ended' } : { type: 'watchFailed', failure: failureOf(error) });
  }

  #report(effect: Extract<ListWatchEffect, { type: 'status' }>): void {
    if (effect.error === undefined) return;
    this.#sink.onError(effect.error);
    this.#options.logger.warn('the watch cache could not list or watch its storage; trying again', {
      prefix: this.#options.prefix,
      phase: effect.phase,
      error: effect.error,
    });
  }

  #keepAskingForProgress(): void {
    const onDue = (): void => {
      this.#keepAskingForProgress();
      // A storage may learn late that it supports progress requests, for example when an etcd member reports its
      // version.
      if (this.#state.phase !== 'watching' || !this.#options.storage.supportsProgressRequests) return;
      if (!this.#asksForProgress) {
        this.#asksForProgress = true;
        this.#guard(idleTimeoutMs);
      }
      this.#options.storage.requestWatchProgress().catch((error: unknown) => this.#sink.onError(error));
    };
    this.#cancelProgress = setSharedTimer(this.#options.clock, onDue, progressPeriodMs);
  }

  /**
   * Watches for silence. Without progress requests, a quiet watch and a dead one look the same, and reopening one may
   * cost a relist.
   */
  #guard(delayMs: number): void {
    this.#cancelWatchdog?.();
    const onDue = (): void => {
      if (this.#asksForProgress) this.#input({ type: 'watchdog' });
      else this.#guard(idleTimeoutMs);
    };
    this.#cancelWatchdog = setSharedTimer(this.#options.clock, onDue, delayMs);
  }

  #closeWatch(): void {
    this.#watch?.close();
    this.#watch = undefined;
  }

  #stop(): void {
    this.#abort.abort();
    this.#closeWatch();
    this.#cancelWait?.();
    this.#cancelWatchdog?.();
    this.#cancelProgress?.();
    this.#staged = [];
  }
}

function needsList(state: ListWatchState): boolean {
  return state.phase === 'listing' || (state.phase === 'waiting' && state.next === 'relist');
}

/**
 * Classifies an error. An unreachable storage does not need a new list; a server that refuses connections is treated
 * the same.
 */
function failureOf(error: unknown): ListWatchFailure {
  if (isStorageError(error, 'Compacted')) return { kind: 'expired', error };
  if (isStorageError(error, 'Unreachable') || isStorageError(error, 'Timeout'))
    return { kind: 'unreachable', error, isUnanswered: true };
  return listWatchFailureOf(error);
}

function everything<T extends KubernetesObject>(): SelectionPredicate<T> {
  return {
    labels: everyLabel,
    fields: everyField,
    getAttributes: () => ({ labels: {}, fields: {} }),
    limit: 0,
    continue: '',
    allowWatchBookmarks: false,
  };
}
