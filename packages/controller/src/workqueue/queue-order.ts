// QueueOrder: the order in which a WorkQueue hands out waiting keys: first come, first served, or by priority with
// aging. Used by work-queue.ts. Source: the Queue{Touch, Push, Len, Pop} hook of client-go's workqueue.
import { inspect } from 'node:util';
import type { Clock } from '@kapstan/api';
import { type OptionTable, optional, requireObject, requireOptions } from '@kapstan/api/internal';
import { KeyRing } from './key-ring.ts';
import { RankHeap } from './rank-heap.ts';

/** Controls how fast waiting makes up for a lower priority. */
export interface PriorityOptions {
  /**
   * Waiting time that one step of priority is worth, in milliseconds. Above 0. A key waits as if it had been added
   * `priority · agingMs` earlier, so it precedes all keys that are added later than this, under any load. Default 100:
   * a key of priority -100 precedes all keys of priority 0 that are added 10 s after it.
   */
  readonly agingMs?: number;
}

const table: OptionTable<PriorityOptions> = { agingMs: optional(requireAging) };

/** The waiting keys, each once. */
export interface QueueOrder<K> {
  readonly length: number;
  /** Priority of the next key; 0 when none waits. */
  readonly firstPriority: number;
  /**
   * Adds a key. Returns the priority with which it was already waiting, or undefined; the higher one counts from now
   * on.
   */
  put(key: K, priority: number): number | undefined;
  /** Takes out the next key; there must be one. */
  take(): K;
}

/** First come, first served. Priorities are recorded but do not count. */
export class ArrivalOrder<K> implements QueueOrder<K> {
  readonly #keys: KeyRing<K> = new KeyRing();
  /** Waiting keys with a priority other than 0. */
  readonly #priorities = new Map<K, number>();

  get length(): number {
    return this.#keys.size;
  }

  get firstPriority(): number {
    return this.#priorities.size === 0 ? 0 : (this.#priorities.get(this.#keys.first as K) ?? 0);
  }

  put(key: K, priority: number): number | undefined {
    if (this.#keys.add(key)) {
      if (priority !== 0) this.#priorities.set(key, priority);
      return undefined;
    }
    const before = this.#priorities.get(key) ?? 0;
    if (priority > before) this.#priorities.set(key, priority);
    return before;
  }

  take(): K {
    const key = this.#keys.take() as K;
    if (this.#priorities.size > 0) this.#priorities.delete(key);
    return key;
  }
}

/**
 * Orders keys by priority. Waiting keys gain priority at the same constant rate, so their order never changes while
 * they wait, and one number per key, known when it is added, decides.
 */
export class PriorityOrder<K> implements QueueOrder<K> {
  readonly #heap = new RankHeap<K>();
  readonly #priorities = new Map<K, number>();
  readonly #clock: Clock;
  readonly #agingMs: number;

  /** Throws TypeError for a bad `agingMs`. */
  constructor(options: PriorityOptions, clock: Clock) {
    requirePriorityOptions(options);
    this.#clock = clock;
    this.#agingMs = options.agingMs ?? 100;
  }

  get length(): number {
    return this.#heap.size;
  }

  get firstPriority(): number {
    return this.#priorities.get(this.#heap.first as K) ?? 0;
  }

  put(key: K, priority: number): number | undefined {
    const before = this.#priorities.get(key);
    if (before === undefined || priority > before) this.#priorities.set(key, priority);
    // The heap keeps the better of two places, so a lower priority never sets a key back.
    this.#heap.put(key, this.#clock.monotonicNow() - priority * this.#agingMs);
    return before;
  }

  take(): K {
    const key = this.#heap.take() as K;
    this.#priorities.delete(key);
    return key;
  }
}

/** Throws TypeError for bad options. */
export function requirePriorityOptions(options: unknown): void {
  requireObject(options, 'options of priorities, such as { agingMs },');
  requireOptions(options as PriorityOptions, table, 'options of priorities');
}

function requireAging(agingMs: unknown, name: string): void {
  if (typeof agingMs === 'number' && agingMs > 0 && Number.isFinite(agingMs)) return;
  throw new TypeError(`${name} must be above 0, not ${inspect(agingMs)}`);
}

/** Throws TypeError, because a NaN would disorder the others, and each fraction would be a separate metric series. */
export function requirePriority(priority: unknown): asserts priority is number {
  if (!Number.isInteger(priority)) throw new TypeError(`a priority must be a whole number, not ${inspect(priority)}`);
}
