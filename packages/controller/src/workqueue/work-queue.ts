// WorkQueue: keys to work on, each once however often it is added, and never by two workers at a time (client-go's
// workqueue.Type). Below it nothing; above it delaying-queue.ts.
import { type Observable, Subject } from 'rxjs';

export interface WorkQueueOptions {
  /** Names the queue in metrics and logs. Default ''. */
  readonly name?: string;
}

/**
 * A queue of keys compared with ===, so strings or numbers. A key that is added while it waits is not added again; one
 * that is added while a worker has it waits until that worker calls {@link WorkQueue.done}. Memory: the distinct keys.
 */
export class WorkQueue<K> {
  readonly name: string;
  /** In the order in which they are handed out. `#head` is the first that is still here. */
  #order: (K | undefined)[] = [];
  #head = 0;
  /** Keys that need work: those in #order, and those added again while being processed. */
  readonly #dirty = new Set<K>();
  readonly #processing = new Set<K>();
  readonly #waiting: ((key: K | undefined) => void)[] = [];
  readonly #drained: (() => void)[] = [];
  readonly #depth = new Subject<number>();
  #isShuttingDown = false;
  #isDraining = false;

  constructor(options: WorkQueueOptions = {}) {
    this.name = options.name ?? '';
  }

  /** Keys that wait, without those being processed. */
  get length(): number {
    return this.#order.length - this.#head;
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

  /** Asks for work on a key. Ignored after shutdown. Atomic: the sets and the order change together. */
  add(key: K): void {
    if (this.#isShuttingDown || this.#dirty.has(key)) return;
    this.#dirty.add(key);
    if (!this.#processing.has(key)) this.#push(key);
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
    this.#processing.delete(key);
    if (this.#dirty.has(key)) this.#push(key);
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

  #push(key: K): void {
    const worker = this.#waiting.shift();
    if (worker === undefined) {
      this.#order.push(key);
      this.#depth.next(this.length);
      return;
    }
    this.#hand(key);
    worker(key);
  }

  #take(): K {
    const key = this.#order[this.#head] as K;
    this.#order[this.#head++] = undefined;
    if (this.#head > 1024 && this.#head * 2 > this.#order.length) {
      this.#order = this.#order.slice(this.#head);
      this.#head = 0;
    }
    this.#hand(key);
    this.#depth.next(this.length);
    return key;
  }

  #hand(key: K): void {
    this.#dirty.delete(key);
    this.#processing.add(key);
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
