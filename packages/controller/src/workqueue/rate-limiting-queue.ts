// RateLimitingQueue: the work queue of a controller; failed keys come back later and later. Below it delaying-queue.ts.

import { systemClock } from '@kapstan/api';
import { immediate, type OptionNames } from '@kapstan/api/internal';
import { requireOptionNames } from '../option-names.ts';
import { DelayingQueue, type DelayingQueueOptions } from './delaying-queue.ts';
import { defaultControllerRateLimiter, type RateLimiter, requireRateLimiter } from './rate-limiter.ts';
import { queueOptionNames, requireKey } from './work-queue.ts';

export interface RateLimitingQueueOptions<K> extends DelayingQueueOptions<K> {
  /** Default {@link defaultControllerRateLimiter}: per key 5 ms to 1000 s, 10 a second over all keys. */
  readonly rateLimiter?: RateLimiter<K>;
}

const optionNames: OptionNames<RateLimitingQueueOptions<never>> = { ...queueOptionNames, rateLimiter: true };

/**
 * A {@link DelayingQueue} for work that fails: `get`, work, then `forget` or `addRateLimited`, and in both cases `done`, after
 * it. Memory: the keys in it, and what the limiter keeps for those that are not forgotten.
 */
export class RateLimitingQueue<K> extends DelayingQueue<K> {
  readonly #limiter: RateLimiter<K>;

  /** Throws TypeError on bad options. */
  constructor(options: RateLimitingQueueOptions<K> = {}) {
    super(options);
    if (new.target === RateLimitingQueue) requireOptionNames(options, optionNames, 'a RateLimitingQueue');
    if (options.rateLimiter !== undefined) requireRateLimiter(options.rateLimiter);
    this.#limiter = options.rateLimiter ?? defaultControllerRateLimiter(options.clock ?? systemClock);
  }

  /**
   * Adds a key when the rate limiter lets it. Throws what the limiter throws, and TypeError where it gives no delay, and as
   * {@link WorkQueue.add}.
   */
  addRateLimited(key: K, priority = 0): void {
    // Before the limiter counts it.
    requireKey(key);
    this.addAfter(key, immediate(this.#limiter.when(key), 'a delay'), priority);
  }

  /** The key succeeded or is given up: its delays start anew. Does not replace {@link WorkQueue.done}. */
  forget(key: K): void {
    // Given on: who calls sees to what an async one rejects with.
    return this.#limiter.forget(key);
  }

  /** Tries of a key since it was last forgotten. */
  numRequeues(key: K): number {
    return immediate(this.#limiter.numRequeues(key), 'a number of tries');
  }
}
