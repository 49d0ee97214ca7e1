// WorkTurns: runs SlicedWork in turns of the event loop. Everybody's work shares the few milliseconds that one turn has for it,
// so a hundred large objects at once hold the loop no longer than one. Used by object-store.ts and by all of apiserver.
import { type Clock, type SlicedWork, systemClock } from '@kapstan/api';

/** Longest stretch of such work in one turn, in milliseconds: what else a turn does is added to it. */
const turnMs = 8;

interface Waiting {
  readonly work: SlicedWork<unknown>;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
}

export class WorkTurns {
  readonly #clock: Clock;
  readonly #waiting: Waiting[] = [];
  /** When the first work of this turn was asked to stop; undefined before. */
  #beganMs: number | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Returns the result when the work is done within this turn's share, and else a promise of it. Small work is through before its
   * first `yield` and costs neither a look at the clock nor a promise. Throws, or rejects with, what the work throws.
   */
  run<T>(work: SlicedWork<T>): T | Promise<T> {
    const first = work.next();
    if (first.done === true) return first.value;
    while (this.#waiting.length === 0 && this.#hasTime()) {
      const step = work.next();
      if (step.done === true) return step.value;
    }
    return new Promise<T>((resolve, reject) => {
      this.#waiting.push({ work, resolve: resolve as (result: unknown) => void, reject });
    });
  }

  #hasTime(): boolean {
    const nowMs = this.#clock.monotonicNow();
    if (this.#beganMs !== undefined) return nowMs - this.#beganMs < turnMs;
    this.#beganMs = nowMs;
    setImmediate(() => this.#onNextTurn());
    return true;
  }

  #onNextTurn(): void {
    this.#beganMs = undefined;
    while (this.#waiting.length > 0 && this.#hasTime()) this.#advance();
  }

  /** Goes on with the work that has waited longest, until it is done or the turn is over; then it waits behind the others. */
  #advance(): void {
    const first = this.#waiting.shift();
    if (first === undefined) return;
    try {
      do {
        const step = first.work.next();
        if (step.done === true) return first.resolve(step.value);
      } while (this.#hasTime());
      this.#waiting.push(first);
    } catch (error) {
      first.reject(error);
    }
  }
}

/** Objects whose encoded form is longer are worked on in slices: each stage of a write takes a millisecond or more for them. */
export const largeObjectBytes: number = 32 * 1024;

/** There is one event loop, and so one budget for all servers and stores of this process. */
const turnsOfThread = new WorkTurns(systemClock);

/** {@link WorkTurns.run} with the budget of this thread. */
export function runInTurns<T>(work: SlicedWork<T>): T | Promise<T> {
  return turnsOfThread.run(work);
}
