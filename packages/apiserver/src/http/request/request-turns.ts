// RequestTurns: how much work on bodies fits into one turn of the event loop. Sixty bodies that arrive at once would else be decoded,
// validated and admitted in one. Used by resource-call.ts and patch-handler.ts, when a body has come.
import type { Clock } from '@kapstan/api';

/** With what else is done in a turn it stays well below 50 ms. */
const turnMs = 20;

export class RequestTurns {
  readonly #clock: Clock;
  #beganMs = 0;
  #hasBegun = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Resolves when there is room, in the order of the calls. */
  async room(): Promise<void> {
    while (!this.#hasRoom()) await new Promise((resolve) => setImmediate(resolve));
  }

  #hasRoom(): boolean {
    const nowMs = this.#clock.monotonicNow();
    if (this.#hasBegun) return nowMs - this.#beganMs < turnMs;
    this.#hasBegun = true;
    this.#beganMs = nowMs;
    // Before those of the calls that wait from now on, so they find a new turn, and calls of its end find it spent.
    setImmediate(() => {
      this.#hasBegun = false;
    });
    return true;
  }
}
