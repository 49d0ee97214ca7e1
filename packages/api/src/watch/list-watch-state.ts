// The types of the list/watch machine: health, inputs, effects and states. The steps are in list-watch-machine.ts.
import type { BackoffState } from '../time/backoff.ts';
import type { ListWatchFailure } from './list-watch-failure.ts';
import type { ResolvedListWatchOptions } from './list-watch-options.ts';

/**
 * Health of a source. `syncing`: the first state is being read. `live`: up to date. `stale`: the watch broke or went
 * silent, and the known state may be old. `retrying`: waiting after a failure. `failed`: the source refuses the request
 * (wrong, not allowed, not found); attempts continue at the longest pause.
 */
export type ListWatchPhase = 'syncing' | 'live' | 'stale' | 'retrying' | 'failed';

/**
 * An input of the machine. An input that does not fit the state, such as an answer that arrives after a close, changes
 * nothing.
 */
export type ListWatchInput =
  | { readonly type: 'start' }
  /** A page of a list arrived. The driver has staged its items. */
  | { readonly type: 'listed'; readonly resourceVersion: string; readonly continue?: string | undefined }
  | { readonly type: 'listFailed'; readonly failure: ListWatchFailure }
  /** The source accepted the watch. Optional, because the first event implies it. */
  | { readonly type: 'opened' }
  /**
   * An event arrived; `added` is one that may belong to the initial state. The driver stages or applies its object, see
   * {@link ListWatchState}.
   */
  | { readonly type: 'event'; readonly isAdded: boolean; readonly resourceVersion: string }
  | { readonly type: 'bookmark'; readonly resourceVersion: string; readonly initialEventsEnd: boolean }
  /** The source ended the watch without an error. */
  | { readonly type: 'ended' }
  | { readonly type: 'watchFailed'; readonly failure: ListWatchFailure }
  /** The time of the last `wait` is over. */
  | { readonly type: 'waited' }
  /**
   * The source has answered another caller after it had answered nobody. This input is optional: without it a pause
   * lasts its full time.
   */
  | { readonly type: 'reachable' }
  /** The time of the last `watchdog` is over. */
  | { readonly type: 'watchdog' }
  | { readonly type: 'close' };

/** Commands for the driver, which carries them out in this order. */
export type ListWatchEffect =
  /**
   * Request a page. Without `continue` it is the first page, so staged objects are dropped. `limit` 0 = everything at
   * once.
   */
  | { readonly type: 'list'; readonly resourceVersion: string; readonly limit: number; readonly continue?: string }
  /** Open a watch with bookmarks. With `sendInitialEvents` (requested as "not older than"), drop staged objects. */
  | {
      readonly type: 'watch';
      readonly resourceVersion: string;
      readonly timeoutMs: number;
      readonly sendInitialEvents: boolean;
    }
  /** Drop the open watch; none of its events may arrive any more. */
  | { readonly type: 'closeWatch' }
  /** The staged objects are the whole state at this version. */
  | { readonly type: 'replace'; readonly resourceVersion: string }
  /**
   * Give the input `waited` after this time; replaces an earlier wait. With `untilReachable` also give the input
   * `reachable`, once, if the driver can know it.
   */
  | { readonly type: 'wait'; readonly delayMs: number; readonly untilReachable?: boolean }
  /** Give the input `watchdog` after this time; replaces an earlier one. */
  | { readonly type: 'watchdog'; readonly delayMs: number }
  /** The source's health changed, or it failed (again). */
  | { readonly type: 'status'; readonly phase: ListWatchPhase; readonly error?: unknown }
  /** The machine has ended: abort requests, drop the watch, cancel timers. */
  | { readonly type: 'stop' };

/** The part of the state that all phases keep. */
export interface ListWatchMemory {
  readonly options: ResolvedListWatchOptions;
  /** True when the last version is no longer available: list and stream from the most recent one. */
  readonly isVersionUnavailable: boolean;
  /**
   * True when a list that any cache could have answered came in pages. The source then has no cache, so pages are
   * always used.
   */
  readonly isPaginated: boolean;
  readonly backoff: BackoffState;
  /** True when the last attempt had no answer. The next answer of any kind resets the pauses. */
  readonly isUnanswered: boolean;
  /** Number of pauses that the input `reachable` cut short since the last answer. */
  readonly wakes: number;
  /** True when the last watch was refused. Until one is open, a list alone does not make the known state live. */
  readonly isWatchRefused: boolean;
  readonly internalErrors: { readonly firstMs: number; readonly lastMs: number } | undefined;
  readonly health: ListWatchPhase;
}

/** One list under way. */
export interface ListProgress {
  readonly resourceVersion: string;
  readonly limit: number;
  /** Version of the first page, which is the version of the whole list. */
  readonly firstVersion: string | undefined;
  readonly pages: number;
  /** True for the second attempt, at the most recent version. */
  readonly isRetry: boolean;
  /** True when the pages expired, so that everything is requested at once. */
  readonly isFull: boolean;
}

/** One open watch. */
export interface WatchStream {
  readonly openedAtMs: number;
  readonly lastEventAtMs: number;
  readonly events: number;
  readonly isOpen: boolean;
  /** True when it started at "" or "0": versions are unordered until the first event that is not an added one. */
  readonly isSynthetic: boolean;
}

/**
 * In `listing` and `streaming` the driver stages objects; in `watching` it applies each object at once.
 * `resourceVersion` is the last one seen; "" = none.
 */
export type ListWatchState = { readonly memory: ListWatchMemory; readonly resourceVersion: string } & (
  | { readonly phase: 'idle' | 'closed' }
  | { readonly phase: 'listing'; readonly list: ListProgress }
  | { readonly phase: 'streaming' | 'watching'; readonly stream: WatchStream }
  | { readonly phase: 'waiting'; readonly next: 'relist' | 'watch'; readonly untilMs: number }
);

export interface ListWatchStep {
  readonly state: ListWatchState;
  readonly effects: readonly ListWatchEffect[];
}
