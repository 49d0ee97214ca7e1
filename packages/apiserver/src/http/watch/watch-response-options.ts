// What a WatchResponse needs, and what it tells. Part of watch-response.ts.
import type { Clock } from '@kapstan/api';
import type { Histogram } from '@kapstan/storage';
import type { TurnFlusher } from '../exchange/turn-flusher.ts';
import type { InitialSlices } from './initial-slices.ts';
import type { BudgetReason, WatchBudget } from './watch-budget.ts';
import type { WatchFrames } from './watch-frames.ts';

/** Why a watch was too slow: its socket took nothing; too much waits in it; or in all watches of its user or of the server. */
export type OverflowReason = 'stuck' | 'behind' | BudgetReason;

export interface WatchResponseOptions {
  readonly frames: WatchFrames;
  readonly initialSlices: InitialSlices;
  readonly allowBookmarks: boolean;
  /** Bytes of live events that may wait for the peer; the initial events do not count. */
  readonly maxBufferedBytes: number;
  readonly budget: WatchBudget;
  /** Whose watch it is. */
  readonly userName: string;
  readonly flusher: TurnFlusher;
  readonly clock: Clock;
  /** Told the bytes of each event that is written. */
  readonly sizes: Pick<Histogram, 'observe'>;
  /** The bookmark that ends the initial events goes out. Called once, where bookmarks are allowed. */
  onInitialEventsSent(): void;
  /** The peer was too slow and its watch is ended. */
  onOverflow(reason: OverflowReason): void;
  /** No more events are taken; what waits is still sent. Called once, before `onEnd`. */
  onEnding(): void;
  /** The stream is over, for whatever reason. Called once. */
  onEnd(): void;
}
