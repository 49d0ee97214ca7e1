// QueueOrder: in which order a WorkQueue hands out its waiting keys: first come, first served, or by priority with aging.
// Used by work-queue.ts. Source: the Queue{Touch, Push, Len, Pop} hook of client-go's workqueue.
import { inspect } from 'node:util';
import { type Clock, type OptionNames, requireKnownOptions, requireObject } from '@kapstan/api';
import { RankHeap } from './rank-heap.ts';

export interface PriorityOptions {
  /**
   * What one step of priority is worth in waiting time, in milliseconds. Above 0. A key waits as if it had been added
   * `priority · agingMs` earlier, so it goes before all that is added later than their difference in priority times this,
   * whatever the flood. Default 100: a key of priority -100 goes before everything of priority 0 that is added 10 s after it.
   */
  readonly agingMs?: number;
}

const priorityOptionNames: OptionNames<PriorityOptions> = { agingMs: true };

/** The keys that wait; each is there once. */
export interface QueueOrder<K> {
  readonly length: number;
  push(key: K, priority: number): void;
  /** The key is wanted again while it waits. */
  touch(key: K, priority: number): void;
  pop(): K;
}

/** First come, first served; priorities do not count. */
export class ArrivalOrder<K> implements QueueOrder<K> {
  /** `#head` is the first that is still here. */
  #keys: (K | undefined)[] = [];
  #head = 0;

  get length(): number {
    return this.#keys.length - this.#head;
  }

  push(key: K): void {
    this.#keys.push(key);
  }

  touch(): void {
    // It keeps its place.
  }

  pop(): K {
    const key = this.#keys[this.#head] as K;
    this.#keys[this.#head++] = undefined;
    if (this.#head > 1024 && this.#head * 2 > this.#keys.length) {
      this.#keys = this.#keys.slice(this.#head);
      this.#head = 0;
    }
    return key;
  }
}

/**
 * Higher priorities first, and who waits gains priority at a constant rate. Two waiting keys gain it equally fast, so their
 * order never changes while they wait, and one number per key, known when it is added, decides.
 */
export class PriorityOrder<K> implements QueueOrder<K> {
  readonly #heap = new RankHeap<K>();
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

  push(key: K, priority: number): void {
    this.#heap.put(key, this.#clock.monotonicNow() - priority * this.#agingMs);
  }

  /** A higher priority counts from now on; a lower one never sets it back. */
  touch(key: K, priority: number): void {
    this.push(key, priority);
  }

  pop(): K {
    return this.#heap.take() as K;
  }
}

/** Throws TypeError. */
export function requirePriorityOptions(options: PriorityOptions): void {
  requireObject(options, 'options of priorities, such as { agingMs },');
  requireKnownOptions(options, priorityOptionNames, 'options of priorities');
  const { agingMs = 100 } = options;
  if (!(agingMs > 0 && Number.isFinite(agingMs)))
    throw new TypeError(`agingMs must be above 0, not ${inspect(agingMs)}`);
}

/** Throws TypeError: a NaN would put the others out of order, and each fraction would be a series of metrics of its own. */
export function requirePriority(priority: unknown): asserts priority is number {
  if (!Number.isInteger(priority)) throw new TypeError(`a priority must be a whole number, not ${inspect(priority)}`);
}
