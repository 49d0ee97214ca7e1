// WorkQueue: keys to work on, each once however often it is added, and never by two workers at a time (client-go's
// workqueue.Type). It keeps its keys in queue-order.ts; delaying-queue.ts extends it.
import { inspect } from 'node:util';
import { type Clock, systemClock } from '@kapstan/api';
import {
  addAbortListener,
  guardedCall,
  type OptionTable,
  optional,
  removeAbortListener,
  requireCallbacks,
  requireClock,
  requireObject,
  requireOptionValues,
  requireString,
} from '@kapstan/api/internal';
import type { Observable } from 'rxjs';
import { Subject } from 'rxjs/internal/Subject';
import { emitThrown } from '../guards/guarded-logger.ts';
import { requirePartOptions } from '../guards/part-options.ts';
import {
  ArrivalOrder,
  type PriorityOptions,
  PriorityOrder,
  type QueueOrder,
  requirePriority,
  requirePriorityOptions,
} from './queue-order.ts';

/** Options of a {@link WorkQueue}. */
export interface WorkQueueOptions<K = unknown> {
  /** Names the queue in metrics and logs. Default ''. */
  readonly name?: string;
  /** Hands out keys by priority, with aging. Default: first come, first served; priorities do not count. */
  readonly priority?: PriorityOptions;
  /** Default: the real clock. */
  readonly clock?: Clock;
  /** Receives events about keys, for metrics. An error that it throws becomes a warning of the process. */
  readonly observer?: WorkQueueObserver<K>;
}

/** Checks of the queue's options; subclasses add their own. */
export const queueTable: OptionTable<WorkQueueOptions> = {
  name: optional(requireString),
  priority: optional(requirePriorityOptions),
  clock: requireClock,
  observer: optional(requireObserver),
};

/** Receives the data for metrics of a queue. Source: the metrics provider of client-go's workqueue. */
export interface WorkQueueObserver<K = unknown> {
  /** Called when a key newly needs work. `priority` here and below is undefined if the queue has no priorities. */
  added?(key: K, priority: number | undefined): void;
  /** Called when a waiting key becomes more urgent. */
  raised?(key: K, from: number, to: number): void;
  /** Called when a worker got the key. */
  started?(key: K, priority: number | undefined): void;
  /** Called when the worker is done with the key. */
  finished?(key: K): void;
  /** Called when a key was added with a delay; 0 or less = it is added at once. */
  retried?(key: K, delayMs: number): void;
  /** Called when the delay of a key is over, before it is added. */
  released?(key: K): void;
}

/** Checks the options of a queue, and their names if `who` is given, because subclasses may take more options. */
export function requireQueueOptions<O extends object>(
  options: O,
  table: OptionTable<O>,
  who: string | undefined,
): void {
  requireObject(options, 'options of a queue');
  if (who === undefined) requireOptionValues(options, table);
  else requirePartOptions(options, table, who);
}

function requireObserver(observer: unknown, name: string): void {
  requireObject(observer, name);
  requireCallbacks(observer as object, ['added', 'raised', 'started', 'finished', 'retried', 'released']);
}

/** A key being processed. `again`: the priority with which it was added meanwhile; undefined when it was not. */
interface WorkUnderWay {
  readonly priority: number;
  again: number | undefined;
}

/**
 * A queue of keys compared with ===, so strings or numbers. A waiting key is not added again; a key that is added while
 * a worker has it waits until that worker calls {@link WorkQueue.done}. Memory: the distinct keys.
 */
export class WorkQueue<K> {
  readonly name: string;
  protected readonly observer: WorkQueueObserver<K>;
  // Invariant: a key waits in #order, or a worker has it (#processing), or neither; never both.
  readonly #order: QueueOrder<K>;
  readonly #processing = new Map<K, WorkUnderWay>();
  readonly #hasPriorities: boolean;
  // Invariant: while workers wait, no key does.
  readonly #waiting: ((key: K | undefined) => void)[] = [];
  readonly #drained: (() => void)[] = [];
  readonly #depth = new Subject<number>();
  #isShuttingDown = false;
  #isDraining = false;

  /** Throws TypeError on bad options. */
  constructor(options: WorkQueueOptions<K> = {}) {
    requireQueueOptions(options, queueTable, new.target === WorkQueue ? 'a WorkQueue' : undefined);
    this.name = options.name ?? '';
    this.observer = options.observer ? guardedObserver(options.observer) : {};
    this.#hasPriorities = options.priority !== undefined;
    this.#order =
      options.priority === undefined
        ? new ArrivalOrder()
        : new PriorityOrder(options.priority, options.clock ?? systemClock);
  }

  /** Number of waiting keys, without the keys that are being processed. */
  get length(): number {
    return this.#order.length;
  }

  /** Number of keys in work. */
  get processing(): number {
    return this.#processing.size;
  }

  get isShuttingDown(): boolean {
    return this.#isShuttingDown;
  }

  /**
   * The number of waiting keys after each change. Shared, no replay, never errors, completes at shutdown. Delivery is
   * synchronous, so subscribers must be quick.
   */
  get depth$(): Observable<number> {
    return this.#depth.asObservable();
  }

  /**
   * Asks for work on a key; the highest priority counts. Ignored after shutdown. Atomic: the key waits, or its worker's
   * record says that it is wanted again. Throws TypeError for a key that is neither string nor number, and for a
   * priority that is not a whole number.
   */
  add(key: K, priority = 0): void {
    requireKey(key);
    requirePriority(priority);
    if (this.#isShuttingDown) return;
    const work = this.#processing.size === 0 ? undefined : this.#processing.get(key);
    if (work === undefined) this.#addWaiting(key, priority);
    else this.#addAgain(key, work, priority);
  }

  /** Returns the priority with which a key was handed out; 0 for a key that is not being processed. */
  priorityOf(key: K): number {
    return this.#processing.get(key)?.priority ?? 0;
  }

  /**
   * Resolves to the next key, which is in work until {@link WorkQueue.done}. Undefined when the queue is shut down and
   * empty, or the signal aborts first.
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
        removeAbortListener(signal, onAbort);
        resolve(key);
      };
      addAbortListener(signal, onAbort);
      this.#waiting.push(settle);
    });
  }

  /**
   * Ends the work on a key from {@link WorkQueue.get}; other keys are ignored. A key added meanwhile is queued again.
   * Atomic.
   */
  done(key: K): void {
    const work = this.#processing.get(key);
    if (work === undefined) return;
    this.#processing.delete(key);
    this.observer.finished?.(key);
    if (work.again !== undefined) {
      this.#order.put(key, work.again);
      this.#give();
    }
    if (this.#isShuttingDown) this.#settleDrain();
  }

  /** Takes no more keys; waiting ones are still handed out. Waiting workers get undefined. Idempotent. */
  shutDown(): void {
    this.#isShuttingDown = true;
    this.#isDraining = false;
    this.#wakeAll();
    this.#settleDrain();
  }

  /**
   * Shuts down like {@link WorkQueue.shutDown}; resolves when no key waits or is in work, or a later `shutDown` gives
   * up on them.
   */
  async shutDownWithDrain(): Promise<void> {
    this.#isShuttingDown = true;
    this.#isDraining = true;
    this.#wakeAll();
    if (this.#isIdle()) return this.#settleDrain();
    await new Promise<void>((resolve) => this.#drained.push(resolve));
  }

  #addWaiting(key: K, priority: number): void {
    const before = this.#order.put(key, priority);
    if (before !== undefined) return this.#tellRaised(key, before, priority);
    this.observer.added?.(key, this.#told(priority));
    this.#give();
  }

  #addAgain(key: K, work: WorkUnderWay, priority: number): void {
    const before = work.again;
    work.again = Math.max(priority, before ?? priority);
    if (before === undefined) this.observer.added?.(key, this.#told(priority));
    else this.#tellRaised(key, before, priority);
  }

  #tellRaised(key: K, from: number, to: number): void {
    if (this.#hasPriorities && to > from) this.observer.raised?.(key, from, to);
  }

  #told(priority: number): number | undefined {
    return this.#hasPriorities ? priority : undefined;
  }

  /** Gives a new key to a waiting worker, if there is one. The observer may have called into the queue before. */
  #give(): void {
    if (this.length === 0) return;
    const worker = this.#waiting.shift();
    if (worker === undefined) this.#tellDepth();
    else worker(this.#next());
  }

  #take(): K {
    const key = this.#next();
    this.#tellDepth();
    return key;
  }

  #next(): K {
    const priority = this.#order.firstPriority;
    const key = this.#order.take();
    this.#processing.set(key, { priority, again: undefined });
    this.observer.started?.(key, this.#told(priority));
    return key;
  }

  #tellDepth(): void {
    // A check costs less than a delivery to nobody.
    if (this.#depth.observed) this.#depth.next(this.length);
  }

  #isIdle(): boolean {
    return this.#processing.size === 0 && this.length === 0;
  }

  #wakeAll(): void {
    for (const worker of this.#waiting.splice(0)) worker(undefined);
    if (this.#isIdle()) this.#depth.complete();
  }

  #settleDrain(): void {
    if (this.#isDraining && !this.#isIdle()) return;
    for (const resolve of this.#drained.splice(0)) resolve();
    if (this.#isIdle()) this.#depth.complete();
  }
}

/** Throws TypeError, because two equal objects would be two keys, and undefined is the result of an empty queue. */
export function requireKey(key: unknown): void {
  if (typeof key === 'string' || (typeof key === 'number' && !Number.isNaN(key))) return;
  throw new TypeError(`a key must be a string or a number, not ${inspect(key)}`);
}

/** An error of the observer must cost neither the key nor its worker. */
function guardedObserver<K>(observer: WorkQueueObserver<K>): WorkQueueObserver<K> {
  const guard = (tell: () => unknown): void => guardedCall(tell, emitThrown);
  const guarded: WorkQueueObserver<K> = {
    added: (...told) => guard(() => observer.added?.(...told)),
    raised: (...told) => guard(() => observer.raised?.(...told)),
    started: (...told) => guard(() => observer.started?.(...told)),
    finished: (...told) => guard(() => observer.finished?.(...told)),
    retried: (...told) => guard(() => observer.retried?.(...told)),
  };
  if (observer.released !== undefined) guarded.released = (...told) => guard(() => observer.released?.(...told));
  return guarded;
}
