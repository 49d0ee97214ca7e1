// A token bucket that starts full, as client-go's flowcontrol limiter. One per client; off unless asked for.
import { type Clock, delay } from '@kapstan/api';

export interface RateLimit {
  /** Requests a second in the long run. Above 0. */
  readonly qps: number;
  /** Requests that may go at once. At least 1. */
  readonly burst: number;
}

export class RateLimiter {
  readonly #clock: Clock;
  readonly #limit: RateLimit;
  // Invariant: at most `burst`; negative while callers wait, one token each, so that they leave in the order they came.
  #tokens: number;
  #filledAtMs: number;

  constructor(limit: RateLimit, clock: Clock) {
    if (!(limit.qps > 0)) throw new TypeError(`rateLimit.qps must be above 0, got ${limit.qps}`);
    if (!(limit.burst >= 1)) throw new TypeError(`rateLimit.burst must be at least 1, got ${limit.burst}`);
    this.#limit = limit;
    this.#clock = clock;
    this.#tokens = limit.burst;
    this.#filledAtMs = clock.monotonicNow();
  }

  /** Resolves when the caller may go on; rejects with the signal's reason, which gives the token back. */
  async acquire(signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    const waitMs = this.#reserve();
    if (waitMs <= 0) return;
    try {
      await delay(this.#clock, waitMs, signal);
    } catch (error) {
      this.#tokens++;
      throw error;
    }
  }

  // Atomic: refill and take.
  #reserve(): number {
    const now = this.#clock.monotonicNow();
    const { qps, burst } = this.#limit;
    this.#tokens = Math.min(burst, this.#tokens + ((now - this.#filledAtMs) / 1000) * qps) - 1;
    this.#filledAtMs = now;
    return (-this.#tokens / qps) * 1000;
  }
}
