// Rate limiters decide how long a key waits before its next try. Source: client-go util/workqueue
// default_rate_limiters.
import { inspect } from 'node:util';
import { type Clock, systemClock } from '@kapstan/api';
import {
  type OptionTable,
  requireClock,
  requireFunctions,
  requireNotNegative,
  TokenBucket,
  type TokenBucketOptions,
} from '@kapstan/api/internal';
import { requirePartOptions } from '../guards/part-options.ts';

/** Returns the delay of each new try of a key. */
export interface RateLimiter<K> {
  /** Returns the delay before the key is tried again, in milliseconds. Counts as a try. */
  when(key: K): number;
  /** Resets the count of a key that succeeded or was given up. */
  forget(key: K): void;
  /** Returns the tries since the last {@link RateLimiter.forget}. */
  numRequeues(key: K): number;
}

/** Throws TypeError unless given a rate limiter. */
export function requireRateLimiter(limiter: unknown): void {
  requireFunctions(limiter, 'rateLimiter', ['when', 'forget', 'numRequeues']);
}

/** A rate limiter, or a function that makes one on a given clock. */
export type RateLimiterSetting<K> = RateLimiter<K> | ((clock: Clock) => RateLimiter<K>);

/** Throws TypeError unless given a rate limiter or a function. */
export function requireRateLimiterSetting(setting: unknown): void {
  if (typeof setting !== 'function') requireRateLimiter(setting);
}

/** Returns the limiter of a setting. Throws TypeError when a function returns none. */
export function rateLimiterOf<K>(setting: RateLimiterSetting<K> | undefined, clock: Clock): RateLimiter<K> | undefined {
  if (typeof setting !== 'function') return setting;
  const made = setting(clock);
  requireRateLimiter(made);
  return made;
}

interface ExponentialOptions {
  readonly baseMs: number;
  readonly maxMs: number;
}

const exponentialTable: OptionTable<ExponentialOptions> = { baseMs: requireNotNegative, maxMs: requireNotNegative };

/** Delays base · 2^failures, at most max. */
export class ExponentialFailureRateLimiter<K> implements RateLimiter<K> {
  readonly #failures = new Map<K, number>();
  readonly #baseMs: number;
  readonly #maxMs: number;

  /** Throws TypeError for a time below 0. */
  constructor(options: ExponentialOptions) {
    requirePartOptions(options, exponentialTable, 'an ExponentialFailureRateLimiter');
    this.#baseMs = options.baseMs;
    this.#maxMs = options.maxMs;
  }

  when(key: K): number {
    const failures = this.#failures.get(key) ?? 0;
    this.#failures.set(key, failures + 1);
    // 2^failures becomes Infinity but never wraps.
    return Math.min(this.#baseMs * 2 ** failures, this.#maxMs);
  }

  forget(key: K): void {
    this.#failures.delete(key);
  }

  numRequeues(key: K): number {
    return this.#failures.get(key) ?? 0;
  }
}

interface FastSlowOptions {
  readonly fastMs: number;
  readonly slowMs: number;
  readonly maxFastAttempts: number;
}

const fastSlowTable: OptionTable<FastSlowOptions> = {
  fastMs: requireNotNegative,
  slowMs: requireNotNegative,
  maxFastAttempts: requireNotNegative,
};

/** Delays the first `maxFastAttempts` tries by `fastMs`, later ones by `slowMs`. */
export class FastSlowRateLimiter<K> implements RateLimiter<K> {
  readonly #failures = new Map<K, number>();
  readonly #options: FastSlowOptions;

  /** Throws TypeError for a number below 0. */
  constructor(options: FastSlowOptions) {
    requirePartOptions(options, fastSlowTable, 'a FastSlowRateLimiter');
    this.#options = { fastMs: options.fastMs, slowMs: options.slowMs, maxFastAttempts: options.maxFastAttempts };
  }

  when(key: K): number {
    const attempts = (this.#failures.get(key) ?? 0) + 1;
    this.#failures.set(key, attempts);
    return attempts <= this.#options.maxFastAttempts ? this.#options.fastMs : this.#options.slowMs;
  }

  forget(key: K): void {
    this.#failures.delete(key);
  }

  numRequeues(key: K): number {
    return this.#failures.get(key) ?? 0;
  }
}

type BucketOptions = Omit<TokenBucketOptions, 'clock'> & Partial<Pick<TokenBucketOptions, 'clock'>>;

const bucketTable: OptionTable<BucketOptions> = {
  perSecond: requireNotNegative,
  burst: requireNotNegative,
  clock: requireClock,
};

/** One token bucket for all keys: each try takes a token and waits for it if the bucket is empty. */
export class BucketRateLimiter<K> implements RateLimiter<K> {
  readonly #bucket: TokenBucket;

  /** `clock` defaults to the real one. Throws TypeError for a rate that is not above 0 or a burst below 1. */
  constructor(options: BucketOptions) {
    requirePartOptions(options, bucketTable, 'a BucketRateLimiter');
    const { perSecond, burst, clock = systemClock } = options;
    this.#bucket = new TokenBucket({ perSecond, burst, clock });
  }

  when(_key: K): number {
    return this.#bucket.take();
  }

  forget(_key: K): void {
    // Tokens belong to no key, so there is nothing to forget.
  }

  numRequeues(_key: K): number {
    return 0;
  }
}

/** Returns the longest delay of several limiters. */
export class MaxOfRateLimiter<K> implements RateLimiter<K> {
  readonly #limiters: readonly RateLimiter<K>[];

  /** Throws TypeError unless given limiters. */
  constructor(limiters: readonly RateLimiter<K>[]) {
    if (!Array.isArray(limiters)) throw new TypeError(`a MaxOfRateLimiter takes a list, not ${inspect(limiters)}`);
    for (const limiter of limiters) requireRateLimiter(limiter);
    this.#limiters = limiters;
  }

  when(key: K): number {
    return Math.max(0, ...this.#limiters.map((limiter) => limiter.when(key)));
  }

  forget(key: K): void {
    for (const limiter of this.#limiters) limiter.forget(key);
  }

  numRequeues(key: K): number {
    return Math.max(0, ...this.#limiters.map((limiter) => limiter.numRequeues(key)));
  }
}

interface MaxWaitOptions {
  readonly maxMs: number;
}

const maxWaitTable: OptionTable<MaxWaitOptions> = { maxMs: requireNotNegative };

/** Cuts delays to `maxMs`. */
export class MaxWaitRateLimiter<K> implements RateLimiter<K> {
  readonly #inner: RateLimiter<K>;
  readonly #maxMs: number;

  /** Throws TypeError unless given a limiter, and for a time below 0. */
  constructor(inner: RateLimiter<K>, options: MaxWaitOptions) {
    requireRateLimiter(inner);
    requirePartOptions(options, maxWaitTable, 'a MaxWaitRateLimiter');
    this.#inner = inner;
    this.#maxMs = options.maxMs;
  }

  when(key: K): number {
    return Math.min(this.#inner.when(key), this.#maxMs);
  }

  forget(key: K): void {
    this.#inner.forget(key);
  }

  numRequeues(key: K): number {
    return this.#inner.numRequeues(key);
  }
}

/** Returns client-go's default: per key 5 ms to 1000 s, and 10 tries a second over all keys with a burst of 100. */
export function defaultControllerRateLimiter<K>(clock: Clock = systemClock): RateLimiter<K> {
  return new MaxOfRateLimiter([
    new ExponentialFailureRateLimiter<K>({ baseMs: 5, maxMs: 1_000_000 }),
    new BucketRateLimiter<K>({ perSecond: 10, burst: 100, clock }),
  ]);
}
