// Pops what a FIFO holds and has it applied, change by change and in slices. Between the FIFO and the shared informer.
// Source: client-go tools/cache/controller.go (processLoop).
import type { CancelTimer, Clock, KubernetesObject, ObjectKey } from '@kapstan/api';
import type { Delta, Deltas, Fifo, ProcessDeltas } from './fifo.ts';

/** Longest time in one turn of the event loop; the clock is looked at after so many pops. */
const sliceMs = 10;
const popsPerLook = 64;
/** Pause before what failed is tried again. Source: the pause of client-go's loop after an abnormal end. */
const retryMs = 1000;

export interface ProcessLoopOptions<T extends KubernetesObject> {
  readonly fifo: Fifo<T>;
  readonly clock: Clock;
  /** Applies one change. What it throws is trouble with this change; the others count all the same. */
  readonly apply: (delta: Delta<T>, key: ObjectKey, isInInitialList: boolean) => void;
  readonly onError: (error: unknown) => void;
  /** Nothing is left to pop but what failed. */
  readonly onDrained: () => void;
  /** An object whose newest change failed is queued again. */
  readonly retryOnError: boolean;
}

/** Invariant: each of these keys is in the FIFO, once; those that rest wait there for the end of the pause. */
interface Retries {
  readonly failed: Set<ObjectKey>;
  readonly resting: Set<ObjectKey>;
}

export class ProcessLoop<T extends KubernetesObject> {
  readonly #options: ProcessLoopOptions<T>;
  readonly #fifo: Fifo<T>;
  // Invariant: no delivery inside a delivery (I4); what one causes is processed after it.
  #isBusy = false;
  #isContinuing = false;
  #isClosed = false;
  /** Changes that were popped and are not applied yet. */
  #popped = 0;
  /** With `retryOnError` only. */
  readonly #retries: Retries | undefined;
  #cancelRetry: CancelTimer | undefined;

  /** Throws TypeError for `retryOnError` with a FIFO that takes nothing back. */
  constructor(options: ProcessLoopOptions<T>) {
    if (options.retryOnError && options.fifo.addIfNotPresent === undefined)
      throw new TypeError(
        "retryOnError needs fifo 'delta': in order, what is tried again would come after what is newer",
      );
    this.#options = options;
    this.#fifo = options.fifo;
    this.#retries = options.retryOnError ? { failed: new Set(), resting: new Set() } : undefined;
  }

  /** With what is being applied now, all is applied up to the FIFO's version. */
  get isUpToDate(): boolean {
    return this.#popped === 0 && (this.#retries?.failed.size ?? 0) === 0;
  }

  /** Runs a section, then applies what it queued; inside of another section, that one does. Returns what the section returns. */
  // Atomic: one change after the other.
  exclusively<R>(section: () => R): R {
    if (this.#isBusy) return section();
    this.#isBusy = true;
    try {
      return section();
    } finally {
      // What was queued before a failure is told all the same.
      this.#drain();
      this.#isBusy = false;
    }
  }

  /** Nothing more is applied, not even the rest of what was popped. */
  close(): void {
    this.#isClosed = true;
    this.#cancelRetry?.();
  }

  /** In slices: a relist of many objects must not hold up the event loop. */
  #drain(): void {
    const { clock, onDrained } = this.#options;
    const untilMs = clock.monotonicNow() + sliceMs;
    for (let pops = 1; this.#fifo.length > (this.#retries?.resting.size ?? 0) && !this.#isClosed; pops++) {
      this.#fifo.pop(this.#process);
      if (pops % popsPerLook === 0 && clock.monotonicNow() > untilMs) {
        this.#continueLater();
        return;
      }
    }
    if (!this.#isClosed) onDrained();
  }

  #continueLater(): void {
    if (this.#isContinuing) return;
    this.#isContinuing = true;
    setImmediate(() => {
      this.#isContinuing = false;
      if (!this.#isClosed) this.exclusively(() => undefined);
    });
  }

  readonly #process: ProcessDeltas<T> = (deltas, isInInitialList, key) => {
    if (this.#retries?.resting.has(key)) {
      this.#fifo.addIfNotPresent?.(key, deltas);
      return;
    }
    this.#retries?.failed.delete(key);
    this.#popped = deltas.length;
    let hasFailed = false;
    for (const delta of deltas) {
      if (this.#isClosed) return;
      this.#popped--;
      hasFailed = !this.#apply(delta, key, isInInitialList);
    }
    if (hasFailed && this.#retries !== undefined) this.#queueAgain(this.#retries, key, deltas.slice(-1));
  };

  #apply(delta: Delta<T>, key: ObjectKey, isInInitialList: boolean): boolean {
    try {
      this.#options.apply(delta, key, isInInitialList);
      return true;
    } catch (error) {
      this.#options.onError(error);
      return false;
    }
  }

  /** In the FIFO, not beside it: what happens to the object meanwhile must come after it, or take its place. */
  #queueAgain({ failed, resting }: Retries, key: ObjectKey, newest: Deltas<T>): void {
    if (this.#isClosed) return;
    this.#fifo.addIfNotPresent?.(key, newest);
    failed.add(key);
    resting.add(key);
    this.#cancelRetry ??= this.#options.clock.setBackgroundTimer(() => {
      this.#cancelRetry = undefined;
      resting.clear();
      this.exclusively(() => undefined);
    }, retryMs);
  }
}
