// DelayingQueue: a WorkQueue to which keys can be added later. rate-limiting-queue.ts extends it.
import { inspect } from 'node:util';
import { type CancelTimer, type Clock, systemClock } from '@kapstan/api';
import { requirePriority } from './queue-order.ts';
import { RankHeap } from './rank-heap.ts';
import { queueTable, requireKey, requireQueueOptions, WorkQueue, type WorkQueueOptions } from './work-queue.ts';

/** Options of a {@link DelayingQueue}. */
export type DelayingQueueOptions<K = unknown> = WorkQueueOptions<K>;

/** Keeps delayed keys in a heap by their due time, with one timer for the earliest. */
export class DelayingQueue<K> extends WorkQueue<K> {
  readonly #clock: Clock;
  /** Keys by their due time on the monotonic clock. */
  readonly #delayed = new RankHeap<K>();
  readonly #priorities = new Map<K, number>();
  #timer: { readonly cancel: CancelTimer; readonly dueAtMs: number } | undefined;

  /** Throws TypeError on bad options. */
  constructor(options: DelayingQueueOptions<K> = {}) {
    super(options);
    if (new.target === DelayingQueue) requireQueueOptions(options, queueTable, 'a DelayingQueue');
    this.#clock = options.clock ?? systemClock;
  }

  /** Number of keys that wait for their time. */
  get delayed(): number {
    return this.#delayed.size;
  }

  /** Returns up to `count` of the keys that wait for their time, the next one first; due on the monotonic clock. */
  nextDelayed(count: number): readonly { readonly key: K; readonly dueAtMs: number }[] {
    return this.#delayed.smallest(count).map(({ key, rank }) => ({ key, dueAtMs: rank }));
  }

  /** Returns the time when a delayed key is due, on the monotonic clock; undefined for any other key. */
  dueAtMs(key: K): number | undefined {
    return this.#delayed.rankOf(key);
  }

  /**
   * Adds a key after a delay; at once if it is 0 or less. A key that waits already keeps the earlier time and the
   * higher priority. Ignored after shutdown. Throws TypeError for a delay that is no number, and as {@link
   * WorkQueue.add}.
   */
  addAfter(key: K, delayMs: number, priority = 0): void {
    requireKey(key);
    requirePriority(priority);
    if (typeof delayMs !== 'number' || Number.isNaN(delayMs))
      throw new TypeError(`a delay must be a number of milliseconds, not ${inspect(delayMs)}`);
    if (this.isShuttingDown) return;
    this.observer.retried?.(key, delayMs);
    if (!(delayMs > 0)) return this.add(key, priority);
    this.#priorities.set(key, Math.max(priority, this.#priorities.get(key) ?? priority));
    this.#delayed.put(key, this.#clock.monotonicNow() + delayMs);
    this.#arm();
  }

  override shutDown(): void {
    this.#dropDelayed();
    super.shutDown();
  }

  override shutDownWithDrain(): Promise<void> {
    this.#dropDelayed();
    return super.shutDownWithDrain();
  }

  #dropDelayed(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#delayed.clear();
    this.#priorities.clear();
  }

  #arm(): void {
    const dueAtMs = this.#delayed.firstRank;
    if (dueAtMs === undefined) return;
    if (this.#timer !== undefined) {
      if (this.#timer.dueAtMs <= dueAtMs) return;
      this.#timer.cancel();
    }
    const cancel = this.#clock.setTimer(() => this.#release(), Math.max(0, dueAtMs - this.#clock.monotonicNow()));
    this.#timer = { cancel, dueAtMs };
  }

  #release(): void {
    this.#timer = undefined;
    const now = this.#clock.monotonicNow();
    for (let due = this.#delayed.firstRank; due !== undefined && due <= now; due = this.#delayed.firstRank) {
      const key = this.#delayed.take() as K;
      const priority = this.#priorities.get(key) ?? 0;
      this.#priorities.delete(key);
      this.observer.released?.(key);
      this.add(key, priority);
    }
    this.#arm();
  }
}
