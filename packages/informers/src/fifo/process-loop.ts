// ProcessLoop pops entries of a FIFO and applies them change by change, in slices. fifo-writer.ts runs it, distributor.ts is below it.
// Source: client-go tools/cache/controller.go (processLoop).
import type { CancelTimer, Clock, KubernetesObject, ObjectKey } from '@kapstan/api';
import { onNextTurn, TurnSlice } from '@kapstan/api/internal';
import type { Delta, Deltas, Fifo, ProcessDeltas } from './fifo.ts';

/** Pause before a failed change is tried again, in milliseconds. Source: the pause of client-go's loop after an abnormal end. */
const retryMs = 1000;

/** The receiver of the changes. */
export interface DeltaSink<T extends KubernetesObject> {
  /** Applies one change. When it throws, only this change has failed; the others are applied. */
  apply(delta: Delta<T>, key: ObjectKey, isInInitialList: boolean): void;
  onError(error: unknown): void;
  /** Called when only failed changes are left. */
  onDrained(): void;
}

/** Code that queues changes or calls handlers does so in two steps: `hold`, and if that returned true, `deliver` at the end. */
export interface DeliveryGate {
  /** Holds deliveries back. Returns false when another caller already does; that caller will deliver. */
  hold(): boolean;
  /**
   * Delivers queued changes, and those that they cause, then opens the gate. Call it even after a failure, for changes queued before it.
   */
  deliver(): void;
}

export interface ProcessLoopOptions<T extends KubernetesObject> {
  readonly fifo: Fifo<T>;
  readonly clock: Clock;
  readonly sink: DeltaSink<T>;
  /** True if an object whose newest change failed is queued again. */
  readonly retryOnError: boolean;
  /** Receives the duration of each entry, in milliseconds; undefined if nothing uses it. */
  readonly processed: ((ms: number) => void) | undefined;
}

/** Invariant: each of these keys is in the FIFO exactly once; resting keys wait there for the end of the pause. */
interface Retries {
  readonly failed: Set<ObjectKey>;
  readonly resting: Set<ObjectKey>;
}

export class ProcessLoop<T extends KubernetesObject> implements DeliveryGate {
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

  hold(): boolean {
    if (this.#isBusy) return false;
    this.#isBusy = true;
    return true;
  }

  // Atomic: one change after the other.
  deliver(): void {
    this.#drain();
    this.#isBusy = false;
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
      this.#pop();
      if (this.#slice.endsHere()) {
        this.#continueLater();
        return;
      }
    }
    if (!this.#isClosed) this.#options.sink.onDrained();
  }

  #pop(): void {
    const { clock, processed } = this.#options;
    if (processed === undefined) {
      this.#fifo.pop(this.#process);
      return;
    }
    const startedAtMs = clock.monotonicNow();
    this.#fifo.pop(this.#process);
    processed(clock.monotonicNow() - startedAtMs);
  }

  #continueLater(): void {
    if (this.#isContinuing) return;
    this.#isContinuing = true;
    onNextTurn(() => {
      this.#isContinuing = false;
      if (!this.#isClosed && this.hold()) this.deliver();
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
      this.#options.sink.apply(delta, key, isInInitialList);
      return true;
    } catch (error) {
      this.#options.sink.onError(error);
      return false;
    }
  }

  /**
   * The change is queued in the FIFO and not elsewhere, because later changes of the object must come after it or
   * replace it.
   */
  #queueAgain({ failed, resting }: Retries, key: ObjectKey, newest: Deltas<T>): void {
    if (this.#isClosed) return;
    this.#fifo.addIfNotPresent?.(key, newest);
    failed.add(key);
    resting.add(key);
    this.#cancelRetry ??= this.#options.clock.setBackgroundTimer(() => {
      this.#cancelRetry = undefined;
      resting.clear();
      if (this.hold()) this.deliver();
    }, retryMs);
  }
}
