// RequestTurns limits the work on bodies in one turn of the event loop. Otherwise sixty bodies that arrive at once
// would be decoded, validated and admitted in one turn. Used by resource-call.ts and patch-handler.ts for each body.
import type { Clock } from '@kapstan/api';

/** Budget in milliseconds: with the other work of a turn it stays well below 50 ms. */
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
    // Runs before the calls queued from now on. They start with a fresh budget; calls made at the end of this turn see
    // it used up.
    setImmediate(() => {
      this.#hasBegun = false;
    });
    return true;
  }
}
