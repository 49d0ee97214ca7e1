// GuardedRequeue adds keys again with the user's rate limiter, whose failure must cost neither a worker nor the key.
// Used by reconcile-loop.ts, over workqueue/.

import type { Clock } from '@kapstan/api';
import { guardedCall } from '@kapstan/api/internal';
import { defaultControllerRateLimiter, type RateLimiter, type RateLimitingQueue } from '../workqueue/index.ts';

export interface GuardedRequeueOptions {
  readonly queue: RateLimitingQueue<string>;
  readonly clock: Clock;
  /** Receives errors that the rate limiter throws or rejects with. Must not throw. */
  readonly report: (key: string, error: unknown) => void;
}

/**
 * Asks the queue's rate limiter; if that fails, `defaultControllerRateLimiter`, so that the key comes back after
 * a delay.
 */
export class GuardedRequeue {
  readonly #queue: RateLimitingQueue<string>;
  readonly #report: GuardedRequeueOptions['report'];
  /** Limiter for the keys for which the queue's limiter failed. */
  readonly #fallback: RateLimiter<string>;

  constructor({ queue, clock, report }: GuardedRequeueOptions) {
    this.#queue = queue;
    this.#report = report;
    this.#fallback = defaultControllerRateLimiter(clock);
  }

  /** Returns the number of tries of a key since it was last forgotten. */
  numRequeues(key: string): number {
    try {
      return this.#queue.numRequeues(key);
    } catch (error) {
      this.#report(key, error);
      return this.#fallback.numRequeues(key);
    }
  }

  addRateLimited(key: string, priority: number): void {
    try {
      this.#queue.addRateLimited(key, priority);
    } catch (error) {
      this.#report(key, error);
      this.#queue.addAfter(key, this.#fallback.when(key), priority);
    }
  }

  forget(key: string): void {
    this.#fallback.forget(key);
    guardedCall(
      () => this.#queue.forget(key),
      (error) => this.#report(key, error),
    );
  }
}
