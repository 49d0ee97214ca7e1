// The words of the list/watch machine: health, inputs, effects and states. The steps are in list-watch-machine.ts.
import type { BackoffState } from '../time/backoff.ts';
import type { ListWatchFailure } from './list-watch-failure.ts';
import type { ResolvedListWatchOptions } from './list-watch-options.ts';

/**
 * How a source is doing. `syncing`: the first state is under way. `live`: up to date. `stale`: the watch broke or went
 * silent and what is known may be old. `retrying`: waiting after a failure. `failed`: the source refuses the request
 * (wrong, not allowed, not found); it is asked again all the same, at the capped backoff.
 */
export type ListWatchPhase = 'syncing' | 'live' | 'stale' | 'retrying' | 'failed';

/** What happened. An input that does not fit the state (an answer that crossed a close) changes nothing. */
export type ListWatchInput =
  | { readonly type: 'start' }
  /** A page of a list came. The driver has kept its items. */
  | { readonly type: 'listed'; readonly resourceVersion: string; readonly continue?: string | undefined }
  | { readonly type: 'listFailed'; readonly failure: ListWatchFailure }
  /** The source accepted the watch. Optional: the first event says the same. */
  | { readonly type: 'opened' }
  /** An event came; `added` is one that may belong to the initial state. The driver stages or applies its object, see {@link ListWatchState}. */
  | { readonly type: 'event'; readonly isAdded: boolean; readonly resourceVersion: string }
  | { readonly type: 'bookmark'; readonly resourceVersion: string; readonly initialEventsEnd: boolean }
  /** The source ended the watch without an error. */
  | { readonly type: 'ended' }
  | { readonly type: 'watchFailed'; readonly failure: ListWatchFailure }
  /** The time of the last `wait` is over. */
  | { readonly type: 'waited' }
  /** The source has answered somebody else, after it had answered nobody. Optional: without it a pause ends with its time. */
  | { readonly type: 'reachable' }
  /** The time of the last `watchdog` is over. */
  | { readonly type: 'watchdog' }
  | { readonly type: 'close' };

/** What the driver must do, in order. */
export type ListWatchEffect =
  /** Ask for a page. Without `continue` it is the first: forget what was staged. `limit` 0 = all at once. */
  | { readonly type: 'list'; readonly resourceVersion: string; readonly limit: number; readonly continue?: string }
  /** Open a watch with bookmarks. With `sendInitialEvents` (asked as "not older than") forget what was staged. */
  | {
      readonly type: 'watch';
      readonly resourceVersion: string;
      readonly timeoutMs: number;
      readonly sendInitialEvents: boolean;
    }
  /** Drop the open watch; nothing of it may arrive any more. */
  | { readonly type: 'closeWatch' }
  /** The staged objects are the whole state at this version. */
  | { readonly type: 'replace'; readonly resourceVersion: string }
  /**
   * Give the input `waited` after this time. Replaces the one before. With `untilReachable` also give the input `reachable`,
   * once, where that can be known.
   */
  | { readonly type: 'wait'; readonly delayMs: number; readonly untilReachable?: boolean }
  /** Give the input `watchdog` after this time. Replaces the one before. */
  | { readonly type: 'watchdog'; readonly delayMs: number }
  /** The source's health changed, or it failed (again). */
  | { readonly type: 'status'; readonly phase: ListWatchPhase; readonly error?: unknown }
  /** Everything ends: abort requests, drop the watch, cancel timers. */
  | { readonly type: 'stop' };

/** What outlives the phases. */
export interface ListWatchMemory {
  readonly options: ResolvedListWatchOptions;
  /** The last version cannot be had any more: list and stream from the most recent one. */
  readonly isVersionUnavailable: boolean;
  /** A list that any cache could have answered came in pages: this source has no cache, so page always. */
  readonly isPaginated: boolean;
  readonly backoff: BackoffState;
  /** The last attempt had no answer. The next answer, whatever it says, starts the pauses anew. */
  readonly isUnanswered: boolean;
  /** Pauses that the input `reachable` cut short since the last answer. */
  readonly wakes: number;
  /** The last watch was refused. Until one is open, a list alone does not make what is known live. */
  readonly isWatchRefused: boolean;
  readonly internalErrors: { readonly firstMs: number; readonly lastMs: number } | undefined;
  readonly health: ListWatchPhase;
}

/** One list under way. */
export interface ListProgress {
  readonly resourceVersion: string;
  readonly limit: number;
  /** Version of the first page: that of the whole list. */
  readonly firstVersion: string | undefined;
  readonly pages: number;
  /** Second attempt, at the most recent version. */
  readonly isRetry: boolean;
  /** The pages expired on the way, so all is asked for at once. */
  readonly isFull: boolean;
}

/** One open watch. */
export interface WatchStream {
  readonly openedAtMs: number;
  readonly lastEventAtMs: number;
  readonly events: number;
  readonly isOpen: boolean;
  /** Started at "" or "0": until another event than an added one, versions are in no order. */
  readonly isSynthetic: boolean;
}

/**
 * `listing` and `streaming`: the driver stages what arrives. `watching`: it applies each object at once. `resourceVersion`
 * is the last one seen; "" = none.
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
