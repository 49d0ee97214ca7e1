// KeptAnswers caches answers of another server, for a limited time and with bounded memory. The least recently used answer is dropped
// first. Used for webhooks of tokens and authorization, and for answers of a main API server. Source: apimachinery util/cache
// LRUExpireCache.
import type { Clock } from '@kapstan/api';

export interface KeptAnswersOptions<T> {
  readonly clock: Clock;
  /** Maximum number of kept answers. */
  readonly maxAnswers: number;
  /** Returns the weight of an answer, because others choose its size. */
  readonly weightOf: (answer: T) => number;
}

interface Kept<T> {
  readonly answer: T;
  readonly untilMs: number;
  readonly weight: number;
}

/** Maximum weight of all answers of one cache, in characters. */
const maxWeight = 32 * 1024 * 1024;

export class KeptAnswers<T> {
  readonly #options: KeptAnswersOptions<T>;
  /** Answers by key, the most recently used last. */
  readonly #kept = new Map<string, Kept<T>>();
  #weight = 0;

  constructor(options: KeptAnswersOptions<T>) {
    this.#options = options;
  }

  find(key: string): T | undefined {
    const kept = this.#kept.get(key);
    if (kept === undefined) return undefined;
    this.#drop(key, kept);
    if (kept.untilMs <= this.#options.clock.monotonicNow()) return undefined;
    this.#put(key, kept);
    return kept.answer;
  }

  /** Keeps nothing for a time of 0 or less, or if the answer alone weighs too much. */
  keep(key: string, answer: T, ttlMs: number): void {
    const { clock, maxAnswers, weightOf } = this.#options;
    this.forget(key);
    const weight = weightOf(answer);
    if (ttlMs <= 0 || weight > maxWeight) return;
    this.#put(key, { answer, untilMs: clock.monotonicNow() + ttlMs, weight });
    while (this.#kept.size > maxAnswers || this.#weight > maxWeight) {
      const [oldest] = this.#kept;
      if (oldest === undefined) return;
      this.#drop(...oldest);
    }
  }

  forget(key: string): void {
    const kept = this.#kept.get(key);
    if (kept !== undefined) this.#drop(key, kept);
  }

  clear(): void {
    this.#kept.clear();
    this.#weight = 0;
  }

  #put(key: string, kept: Kept<T>): void {
    this.#kept.set(key, kept);
    this.#weight += kept.weight;
  }

  #drop(key: string, { weight }: Kept<T>): void {
    this.#kept.delete(key);
    this.#weight -= weight;
  }
}
