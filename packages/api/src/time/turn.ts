// Turns of the event loop. Only this file lets work give way to other work (lint). A loop asks a TurnSlice after each
// item; work started by many callers shares a TurnShare. WorkTurns of @kapstan/storage runs generators on top of it.
import { type Clock, systemClock } from './clock.ts';

/** Longest time for which one loop runs in a turn, in milliseconds. Several loops may share a turn. */
export const sliceMs = 5;
/** Longest time for which all work of one kind together runs in a turn, in milliseconds. */
export const turnMs = 8;
/**
 * Number of items between two looks at the clock. Sixteen objects below the size of large ones take about 4 ms to parse.
 */
const itemsPerLook = 16;

// Browsers have no setImmediate.
const schedule: (callback: () => void) => unknown =
  typeof setImmediate === 'function' ? setImmediate : (callback) => systemClock.setTimer(callback, 0);

/** Calls back in the next turn of the event loop, after the I/O that is ready. */
export function onNextTurn(callback: () => void): void {
  schedule(callback);
}

/** Resolves in the next turn of the event loop, after the I/O that is ready. */
export function nextTurn(): Promise<void> {
  return new Promise(schedule);
}

export interface TurnSliceOptions {
  /** Default: the real clock, because a slice limits the use of the processor. */
  readonly clock?: Clock | undefined;
  /** Default 16. 1 for items that may take a millisecond. */
  readonly itemsPerLook?: number;
}

/** The part of a loop that runs in one turn. Ask it after each item: `if (slice.endsHere()) await slice.nextTurn();`. */
export class TurnSlice {
  readonly #clock: Clock;
  readonly #itemsPerLook: number;
  #items = 0;
  #endMs: number;

  /** Begins the first slice. */
  constructor(options: TurnSliceOptions = {}) {
    this.#clock = options.clock ?? systemClock;
    this.#itemsPerLook = options.itemsPerLook ?? itemsPerLook;
    this.#endMs = this.#clock.monotonicNow() + sliceMs;
  }

  /** Begins a slice now. */
  begin(): void {
    this.#items = 0;
    this.#endMs = this.#clock.monotonicNow() + sliceMs;
  }

  /** Counts an item. Returns true when the loop must give way before its next item. */
  endsHere(): boolean {
    this.#items += 1;
    if (this.#items < this.#itemsPerLook) return false;
    this.#items = 0;
    return this.#clock.monotonicNow() >= this.#endMs;
  }

  /** Resolves in the next turn, with a new slice begun. */
  async nextTurn(): Promise<void> {
    await nextTurn();
    this.begin();
  }
}

/** The time that all work of one kind shares in each turn. A turn begins with the first call of {@link TurnShare.hasTime} in it. */
export class TurnShare {
  readonly #clock: Clock;
  readonly #shareMs: number;
  readonly #endTurn: () => void;
  #beganMs: number | undefined;

  /** `onNext` is called at the start of the turn that follows each turn in which {@link hasTime} was called. */
  constructor(clock: Clock, shareMs: number = turnMs, onNext?: () => void) {
    this.#clock = clock;
    this.#shareMs = shareMs;
    this.#endTurn = () => {
      this.#beganMs = undefined;
      onNext?.();
    };
  }

  /** Returns whether work may continue in this turn. The first call in a turn always returns true. */
  hasTime(shareMs: number = this.#shareMs): boolean {
    const nowMs = this.#clock.monotonicNow();
    if (this.#beganMs !== undefined) return nowMs - this.#beganMs < shareMs;
    this.#beganMs = nowMs;
    // The end is scheduled before the calls that are queued from now on, so those find a new turn; calls at the end of this turn find it used up.
    schedule(this.#endTurn);
    return true;
  }

  /** Resolves in the first turn that has time, in the order of the calls. */
  async room(): Promise<void> {
    while (!this.hasTime()) await nextTurn();
  }
}
