// Pops entries of a FIFO and applies them change by change, in slices. Between the FIFO and the shared informer.
// Source: client-go tools/cache/controller.go (processLoop).
import type { CancelTimer, Clock, KubernetesObject, ObjectKey } from '@kapstan/api';
import { onNextTurn, TurnSlice } from '@kapstan/api/internal';
import type { Delta, Deltas, Fifo, ProcessDeltas } from './fifo.ts';

/** Pause before a failed change is tried again, in milliseconds. Source: the pause of client-go's loop after an abnormal end. */
const retryMs = 1000;

export interface ProcessLoopOptions<T extends KubernetesObject> {
  readonly fifo: Fifo<T>;
  readonly clock: Clock;
  /** Applies one change. When it throws, only this change has failed; the others are applied. */
  readonly apply: (delta: Delta<T>, key: ObjectKey, isInInitialList: boolean) => void;
  readonly onError: (error: unknown) => void;
  /** Called when only failed changes are left. */
  readonly onDrained: () => void;
  /** Whether an object whose newest change failed is queued again. */
  readonly retryOnError: boolean;
}

/** Invariant: each of these keys is in the FIFO exactly once; resting keys wait there for the end of the pause. */
interface Retries {
  readonly failed: Set<ObjectKey>;
  readonly resting: Set<ObjectKey>;
}

export class ProcessLoop<T extends KubernetesObject> {
  readonly #options: ProcessLoopOptions<T>;
  readonly #fifo: Fifo<T>;
  readonly #slice: TurnSlice;
  // Invariant: no delivery inside a delivery (I4); changes that a delivery causes are processed after it.
  #isBusy = false;
  #isContinuing = false;
  #isClosed = false;
  /** Number of popped changes that are not applied yet. */
  #popped = 0;
  /** Only set with `retryOnError`. */
  readonly #retries: Retries | undefined;
  #cancelRetry: CancelTimer | undefined;

  /** Throws TypeError for `retryOnError` with a FIFO that cannot take changes back. */
  constructor(options: ProcessLoopOptions<T>) {
    if (options.retryOnError && options.fifo.addIfNotPresent === undefined)
      throw new TypeError(
        "retryOnError requires fifo 'delta': with 'inOrder', a retried change would come after newer ones",
      );
    this.#options = options;
    this.#fifo = options.fifo;
    this.#slice = new TurnSlice({ clock: options.clock });
    this.#retries = options.retryOnError ? { failed: new Set(), resting: new Set() } : undefined;
  }

  /** True when everything up to the FIFO's version is applied, including the change being applied now. */
  get isUpToDate(): boolean {
    return this.#popped === 0 && (this.#retries?.failed.size ?? 0) === 0;
  }

  /** Runs a section, then applies what it queued; within another section, that one applies it. Returns the section's result. */
  // Atomic: one change after the other.
  exclusively<R>(section: () => R): R {
    if (this.#isBusy) return section();
    this.#isBusy = true;
    try {
      return section();
    } finally {
      // Entries queued before a failure are still delivered.
      this.#drain();
      this.#isBusy = false;
    }
  }

  /** Applies nothing more, not even the rest of a popped entry. */
  close(): void {
    this.#isClosed = true;
    this.#cancelRetry?.();
  }

  /** Works in slices, because a relist of many objects must not block the event loop. */
  #drain(): void {
    this.#slice.begin();
    while (this.#fifo.length > (this.#retries?.resting.size ?? 0) && !this.#isClosed) {
      this.#fifo.pop(this.#process);
      if (this.#slice.endsHere()) {
        this.#continueLater();
        return;
      }
    }
    if (!this.#isClosed) this.#options.onDrained();
  }

  #continueLater(): void {
    if (this.#isContinuing) return;
    this.#isContinuing = true;
    onNextTurn(() => {
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

  /** Queues it in the FIFO and not beside it, because later changes of the object must come after it or replace it. */
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
