// WorkQueue: keys to work on, each once however often it is added, and never by two workers at a time (client-go's
// workqueue.Type). Below it queue-order.ts; above it delaying-queue.ts.
import { type Clock, systemClock } from '@kapstan/api';
import { type Observable, Subject } from 'rxjs';
import { ArrivalOrder, type PriorityOptions, PriorityOrder, type QueueOrder } from './queue-order.ts';

export interface WorkQueueOptions<K = unknown> {
  /** Names the queue in metrics and logs. Default ''. */
  readonly name?: string;
  /** Hands out keys by priority, with aging. Default: first come, first served; priorities do not count. */
  readonly priority?: PriorityOptions;
  /** Default: the real clock. */
  readonly clock?: Clock;
  /** Told what happens to keys, for metrics. Must not throw. */
  readonly observer?: WorkQueueObserver<K>;
}

/** What metrics want to know of a queue. Source: the metrics provider of client-go's workqueue. */
export interface WorkQueueObserver<K = unknown> {
  /** The key needs work, and did not before. */
  added?(key: K): void;
  /** A worker got the key. */
  started?(key: K): void;
  /** The worker is done with it. */
  finished?(key: K): void;
  /** A key was added for later. */
  retried?(key: K): void;
}

/**
 * A queue of keys compared with ===, so strings or numbers. A key that is added while it waits is not added again; one
 * that is added while a worker has it waits until that worker calls {@link WorkQueue.done}. Memory: the distinct keys.
 */
export class WorkQueue<K> {
  readonly name: string;
  protected readonly observer: WorkQueueObserver<K>;
  /** The keys that wait. */
  readonly #order: QueueOrder<K>;
  /** Keys that need work and the priority of each: those in #order, and those added again while being processed. */
  readonly #dirty = new Map<K, number>();
  /** Keys handed out, with the priority that they had. */
  readonly #processing = new Map<K, number>();
  readonly #waiting: ((key: K | undefined) => void)[] = [];
  readonly #drained: (() => void)[] = [];
  readonly #depth = new Subject<number>();
  #isShuttingDown = false;
  #isDraining = false;

  /** Throws TypeError on bad options. */
  constructor(options: WorkQueueOptions<K> = {}) {
    this.name = options.name ?? '';
    this.observer = options.observer ?? {};
    this.#order =
      options.priority === undefined
        ? new ArrivalOrder()
        : new PriorityOrder(options.priority, options.clock ?? systemClock);
  }

  /** Keys that wait, without those being processed. */
  get length(): number {
    return this.#order.length;
  }

  /** Keys handed out and not done. */
  get processing(): number {
    return this.#processing.size;
  }

  get isShuttingDown(): boolean {
    return this.#isShuttingDown;
  }

  /**
   * Shared. No replay. Never errors. Completes at shutdown. Slow consumers: delivery is synchronous, so do nothing long.
   * The number of waiting keys after each change.
   */
  get depth$(): Observable<number> {
    return this.#depth.asObservable();
  }

  /**
   * Asks for work on a key; of several priorities the highest counts. Ignored after shutdown. Atomic: the maps and the order
   * change together.
   */
  add(key: K, priority = 0): void {
    if (this.#isShuttingDown) return;
    const present = this.#dirty.get(key);
    if (present === undefined || priority > present) this.#dirty.set(key, priority);
    if (present === undefined) this.observer.added?.(key);
    if (this.#processing.has(key)) return;
    if (present === undefined) this.#push(key, priority);
    else this.#order.touch(key, priority);
  }

  /** With which priority a key was handed out; 0 for one that is not being processed. */
  priorityOf(key: K): number {
    return this.#processing.get(key) ?? 0;
  }

  /**
   * The next key, when there is one; it counts as processed until {@link WorkQueue.done}. Undefined when the queue is
   * shut down and empty, or the signal aborts first.
   */
  get(signal?: AbortSignal): Promise<K | undefined> {
    if (this.length > 0) return Promise.resolve(this.#take());
    if (this.#isShuttingDown || signal?.aborted) return Promise.resolve(undefined);
    return new Promise((resolve) => {
      const onAbort = (): void => {
        const index = this.#waiting.indexOf(settle);
        if (index >= 0) this.#waiting.splice(index, 1);
        resolve(undefined);
      };
      const settle = (key: K | undefined): void => {
        signal?.removeEventListener('abort', onAbort);
        resolve(key);
      };
      signal?.addEventListener('abort', onAbort, { once: true });
      this.#waiting.push(settle);
    });
  }

  /** Ends the work on a key that {@link WorkQueue.get} gave out. A key added meanwhile is queued again. Atomic. */
  done(key: K): void {
    if (this.#processing.delete(key)) this.observer.finished?.(key);
    const again = this.#dirty.get(key);
    if (again !== undefined) this.#push(key, again);
    this.#settleDrain();
  }

  /** Takes no more keys; those that wait are still handed out. Workers that wait get undefined. Idempotent. */
  shutDown(): void {
    this.#isShuttingDown = true;
    this.#isDraining = false;
    this.#wakeAll();
    this.#settleDrain();
  }

  /** As {@link WorkQueue.shutDown}; resolves when no key waits or is processed, or a later `shutDown` gives up on them. */
  async shutDownWithDrain(): Promise<void> {
    this.#isShuttingDown = true;
    this.#isDraining = true;
    this.#wakeAll();
    if (this.#isIdle()) return this.#settleDrain();
    await new Promise<void>((resolve) => this.#drained.push(resolve));
  }

  #push(key: K, priority: number): void {
    const worker = this.#waiting.shift();
    if (worker === undefined) {
      this.#order.push(key, priority);
      this.#depth.next(this.length);
      return;
    }
    this.#hand(key);
    worker(key);
  }

  #take(): K {
    const key = this.#order.pop();
    this.#hand(key);
    this.#depth.next(this.length);
    return key;
  }

  #hand(key: K): void {
    this.#processing.set(key, this.#dirty.get(key) ?? 0);
    this.#dirty.delete(key);
    this.observer.started?.(key);
  }

  #isIdle(): boolean {
    return this.#processing.size === 0 && this.length === 0;
  }

  #wakeAll(): void {
    for (const worker of this.#waiting.splice(0)) worker(undefined);
    if (this.#isIdle()) this.#depth.complete();
  }

  #settleDrain(): void {
    if (!this.#isShuttingDown || (this.#isDraining && !this.#isIdle())) return;
    for (const resolve of this.#drained.splice(0)) resolve();
    if (this.#isIdle()) this.#depth.complete();
  }
}
