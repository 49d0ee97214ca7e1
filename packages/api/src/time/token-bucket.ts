// TokenBucket limits how often something may happen. It starts full. Used by the client's rate limit and the work
// queue's limiters. Source: golang.org/x/time/rate, as client-go uses it.
import type { Clock } from './clock.ts';

export interface TokenBucketOptions {
  /** Tokens per second in the long run. Above 0. */
  readonly perSecond: number;
  /** Tokens that a full bucket holds. At least 1. */
  readonly burst: number;
  readonly clock: Clock;
}

/** A token bucket without timers: callers wait for their tokens themselves. */
export class TokenBucket {
  readonly #options: TokenBucketOptions;
  // Invariant: at most `burst`. Negative while callers wait, by one per caller, so that they leave in order of arrival.
  #tokens: number;
  #filledAtMs: number;

  /** Throws TypeError for a rate or a burst out of range. */
  constructor(options: TokenBucketOptions) {
    if (!(options.perSecond > 0)) throw new TypeError(`perSecond must be above 0, got ${options.perSecond}`);
    if (!(options.burst >= 1)) throw new TypeError(`burst must be at least 1, got ${options.burst}`);
    this.#options = options;
    this.#tokens = options.burst;
    this.#filledAtMs = options.clock.monotonicNow();
  }

  /** Takes a token, if necessary a future one, and returns the wait for it in milliseconds. 0 = no wait. */
  take(): number {
    this.#fill();
    this.#tokens--;
    return this.#tokens >= 0 ? 0 : (-this.#tokens / this.#options.perSecond) * 1000;
  }

  /** Takes a token and returns true if there is one now. */
  tryTake(): boolean {
    this.#fill();
    if (this.#tokens < 1) return false;
    this.#tokens--;
    return true;
  }

  /** Returns an unused token to the bucket. */
  giveBack(): void {
    this.#tokens++;
  }

  #fill(): void {
    const { perSecond, burst, clock } = this.#options;
    const now = clock.monotonicNow();
    this.#tokens = Math.min(burst, this.#tokens + ((now - this.#filledAtMs) / 1000) * perSecond);
    this.#filledAtMs = now;
  }
}
