// RateLimitingQueue: the work queue of a controller, to which failed keys return after growing delays. It extends
// delaying-queue.ts.

import { systemClock } from '@kapstan/api';
import { immediate, type OptionTable, optional } from '@kapstan/api/internal';
import { DelayingQueue, type DelayingQueueOptions } from './delaying-queue.ts';
import { defaultControllerRateLimiter, type RateLimiter, requireRateLimiter } from './rate-limiter.ts';
import { queueTable, requireKey, requireQueueOptions } from './work-queue.ts';

/** Options of a {@link RateLimitingQueue}. */
export interface RateLimitingQueueOptions<K> extends DelayingQueueOptions<K> {
  /** Default `defaultControllerRateLimiter`: per key 5 ms to 1000 s, 10 a second over all keys. */
  readonly rateLimiter?: RateLimiter<K> | undefined;
}

const table: OptionTable<RateLimitingQueueOptions<never>> = {
  ...queueTable,
  rateLimiter: optional(requireRateLimiter),
};

/**
 * A {@link DelayingQueue} for work that may fail: `get`, work, then `forget` or `addRateLimited`, and finally `done`.
 * Memory: its keys, and the limiter's data for keys that are not forgotten.
 */
export class RateLimitingQueue<K> extends DelayingQueue<K> {
  readonly #limiter: RateLimiter<K>;

  /** Throws TypeError on bad options. */
  constructor(options: RateLimitingQueueOptions<K> = {}) {
    super(options);
    requireQueueOptions(options, table, new.target === RateLimitingQueue ? 'a RateLimitingQueue' : undefined);
    this.#limiter = options.rateLimiter ?? defaultControllerRateLimiter(options.clock ?? systemClock);
  }

  /**
   * Adds a key when the rate limiter allows it. Throws the limiter's error, TypeError if it returns no delay, and the
   * errors of {@link WorkQueue.add}.
   */
  addRateLimited(key: K, priority = 0): void {
    // The key is checked before the limiter counts it.
    requireKey(key);
    this.addAfter(key, immediate(this.#limiter.when(key), 'a delay'), priority);
  }

  /** Resets the delays of a key that succeeded or was given up. Does not replace {@link WorkQueue.done}. */
  forget(key: K): void {
    // The result is returned, so that the caller can handle the rejection of an async limiter.
    return this.#limiter.forget(key);
  }

  /** Returns the number of tries of a key since it was last forgotten. */
  numRequeues(key: K): number {
    return immediate(this.#limiter.numRequeues(key), 'a number of tries');
  }
}
