// The options and callbacks of a WatchResponse. Part of watch-response.ts.
import type { Clock, GroupResource } from '@kapstan/api';
import type { Histogram } from '@kapstan/api/internal';
import type { TurnFlusher } from '../exchange/turn-flusher.ts';
import type { InitialSlices } from './initial-slices.ts';
import type { BudgetReason, WatchBudget } from './watch-budget.ts';
import type { WatchFrames } from './watch-frames.ts';

/**
 * The reason why a watch was too slow: its socket took nothing, or too much was queued in it, in all watches of its
 * user or of the server.
 */
export type OverflowReason = 'stuck' | 'behind' | BudgetReason;

/** An open watch, and how far its client is behind. */
export interface OpenWatch extends GroupResource {
  readonly userName: string;
  /** Events and bytes that wait for the socket. */
  readonly waitingEvents: number;
  readonly waitingBytes: number;
  /** The time when the socket stopped taking bytes, by the monotonic clock; undefined = it takes bytes. */
  readonly blockedSinceMs: number | undefined;
}

export interface WatchResponseOptions {
  /** The resource that is watched. */
  readonly of: GroupResource;
  readonly frames: WatchFrames;
  readonly initialSlices: InitialSlices;
  readonly allowBookmarks: boolean;
  /** Bytes of live events that may queue for the peer; the initial events do not count. */
  readonly maxBufferedBytes: number;
  readonly budget: WatchBudget;
  /** Name of the user who watches. */
  readonly userName: string;
  readonly flusher: TurnFlusher;
  readonly clock: Clock;
  /** Receives the bytes of each event written. */
  readonly sizes: Pick<Histogram, 'observe'>;
  /** Called once, when the bookmark that ends the initial events is sent; only where bookmarks are allowed. */
  onInitialEventsSent(): void;
  /** Called when the watch is ended because the peer was too slow. */
  onOverflow(reason: OverflowReason): void;
  /** Called once, before `onEnd`, when no more events are accepted; queued ones are still sent. */
  onEnding(): void;
  /** Called once, when the stream is over for any reason. */
  onEnd(): void;
}
