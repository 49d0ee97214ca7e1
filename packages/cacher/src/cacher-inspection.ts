// CacherInspection: what a person or a metric wants to know of a cacher. Made by cacher.ts, shown by cacher-metrics.ts.
import type { EndReason } from './cache-watcher.ts';
import type { ConsistencyStatus } from './consistency-checker.ts';
import type { WatcherScope } from './dispatcher.ts';
import type { HistogramCounts } from './duration-histogram.ts';
import type { ListCounts } from './list-reader.ts';

/** Counters never go back. */
export interface CacherCounters {
  readonly eventsReceived: number;
  readonly eventsDispatched: number;
  /** Objects and past events that watchers looked at until they were live. */
  readonly initEvents: number;
  /** Lists after which the cache was ready, and those that failed. */
  readonly initializations: number;
  readonly initializationErrors: number;
  /** Watches that the cache ended, by reason. Those that their clients closed are not counted. */
  readonly ended: Readonly<Record<EndReason, number>>;
  /** Consistent reads that the cache answered. */
  readonly consistentReads: number;
  /** Consistent reads that the storage below had to answer because the cache lagged, and those of them that failed. */
  readonly consistentReadFallbacks: number;
  readonly consistentReadFailures: number;
  /** Lists of a past state that left the history while the cache caught up, so that the storage below answered. */
  readonly exactReadFallbacks: number;
  /** Lists that the cache answered, by the index that was used, with the objects looked at and returned. */
  readonly lists: readonly ListCounts[];
  /** Comparisons with the storage below, by outcome. */
  readonly consistencyChecks: Readonly<Record<ConsistencyStatus, number>>;
  /** How often the history grew and shrank. */
  readonly historyIncreases: number;
  readonly historyDecreases: number;
}

export interface CacherInspection {
  readonly state: 'pending' | 'ready' | 'stopped';
  readonly revision: number;
  readonly objects: number;
  /** Objects that a list under way has brought so far; they are not in `objects` before it ends. */
  readonly loading: number;
  readonly storedBytes: number;
  /** The ring of events; revisions are 0 when it is empty. */
  readonly history: {
    readonly size: number;
    readonly capacity: number;
    readonly oldestRevision: number;
    readonly newestRevision: number;
  };
  /** Revisions at which lists of the past are answered from memory. Undefined: none. */
  readonly pastStates: { readonly oldest: number; readonly newest: number } | undefined;
  readonly watchers: number;
  readonly watchersByScope: readonly WatcherScope[];
  /** Watchers that have not begun yet or still read what is past. */
  readonly catchingUp: number;
  /** Events that the live watchers have yet to get. */
  readonly backlog: number;
  /** Requests that wait for the cache to reach a revision. */
  readonly waiting: number;
  readonly bookmarked: number;
  readonly lastError: unknown;
  readonly counters: CacherCounters;
  readonly durations: {
    /** Waits for a revision, those that had to wait at all. */
    readonly readWait: HistogramCounts;
    readonly initialization: HistogramCounts;
    /** From the cache to the watchers, an event. */
    readonly dispatch: HistogramCounts;
  };
}
