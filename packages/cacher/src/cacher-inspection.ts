// CacherInspection is the view of a cacher for people and metrics. Made by cacher.ts, shown by cacher-metrics.ts.

import type { HistogramCounts } from '@kapstan/api/internal';
import type { EndReason } from './cache-watcher.ts';
import type { ConsistencyStatus } from './consistency-checker.ts';
import type { WatcherScope } from './dispatcher.ts';
import type { ListCounts } from './list-reader.ts';

/** Counters of a cacher. They never go down. */
export interface CacherCounters {
  readonly eventsReceived: number;
  readonly eventsDispatched: number;
  /** Objects and past events that watchers examined before they went live. */
  readonly initEvents: number;
  /** Lists after which the cache was ready, and lists that failed. */
  readonly initializations: number;
  readonly initializationErrors: number;
  /** Watches that the cache ended, by reason. Watches closed by their clients are not counted. */
  readonly ended: Readonly<Record<EndReason, number>>;
  /** Consistent reads that the cache answered. */
  readonly consistentReads: number;
  /** Consistent reads passed to the storage below because the cache lagged, and how many of them failed. */
  readonly consistentReadFallbacks: number;
  readonly consistentReadFailures: number;
  /**
   * Lists of a past state passed to the storage below, because the state left the history while the cache caught up.
   */
  readonly exactReadFallbacks: number;
  /** Lists that the cache answered, by index used, with the objects examined and returned. */
  readonly lists: readonly ListCounts[];
  /** Comparisons with the storage below, by outcome. */
  readonly consistencyChecks: Readonly<Record<ConsistencyStatus, number>>;
  /** Number of times that the history grew and shrank. */
  readonly historyIncreases: number;
  readonly historyDecreases: number;
}

/** The present activity of a {@link Cacher}, for people. */
export interface CacherInspection {
  readonly state: 'pending' | 'ready' | 'stopped';
  readonly revision: number;
  readonly objects: number;
  /** Objects that a list under way has read so far. They are not in `objects` before it ends. */
  readonly loading: number;
  readonly storedBytes: number;
  /** The ring of events; both revisions are 0 when it is empty. */
  readonly history: {
    readonly size: number;
    readonly capacity: number;
    readonly oldestRevision: number;
    readonly newestRevision: number;
  };
  /** Revisions at which lists of the past are answered from memory. Undefined = none. */
  readonly pastStates: { readonly oldest: number; readonly newest: number } | undefined;
  readonly watchers: number;
  readonly watchersByScope: readonly WatcherScope[];
  /** Watchers that have not begun yet or still read past events. */
  readonly catchingUp: number;
  /** Events that the live watchers have not been offered yet. */
  readonly backlog: number;
  /** Requests that wait for the cache to reach a revision. */
  readonly waiting: number;
  readonly bookmarked: number;
  readonly lastError: unknown;
  readonly counters: CacherCounters;
  readonly durations: {
    /** Waiting times of reads that had to wait for a revision. */
    readonly readWait: HistogramCounts;
    readonly initialization: HistogramCounts;
    /** Time of an event from the cache to its watchers. */
    readonly dispatch: HistogramCounts;
  };
}
