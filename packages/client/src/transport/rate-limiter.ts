// The client's rate limit: each request takes a token and waits for it, as in client-go's flowcontrol limiter. Off by default.
import { type Clock, delay } from '@kapstan/api';
import { TokenBucket } from '@kapstan/api/internal';

/** The long-term rate of a client's requests, and the size of a burst. */
export interface RateLimit {
  /** Requests per second in the long run. Above 0. */
  readonly qps: number;
  /** Number of requests that may be sent at once. At least 1. */
  readonly burst: number;
}

export class RateLimiter {
  readonly #clock: Clock;
  readonly #bucket: TokenBucket;

  /** Throws TypeError for a limit out of range. */
  constructor({ qps, burst }: RateLimit, clock: Clock) {
    if (typeof qps !== 'number' || !(qps > 0)) throw new TypeError(`rateLimit.qps must be above 0, got ${qps}`);
    if (typeof burst !== 'number' || !(burst >= 1))
      throw new TypeError(`rateLimit.burst must be at least 1, got ${burst}`);
    this.#clock = clock;
    this.#bucket = new TokenBucket({ perSecond: qps, burst, clock });
  }

  /** Resolves when the caller may continue; rejects with the signal's reason and gives the token back. */
  async acquire(signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    const waitMs = this.#bucket.take();
    if (waitMs === 0) return;
    try {
      await delay(this.#clock, waitMs, signal);
    } catch (error) {
      this.#bucket.giveBack();
      throw error;
    }
  }
}
