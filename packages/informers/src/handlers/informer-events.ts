// The AsyncIterable of an informer: replay, `synced`, live changes, with at most one pending change per live object.
import type { KubernetesObject, ObjectKey } from '@kapstan/api';
import { addAbortListener, removeAbortListener } from '@kapstan/api/internal';
import { ConflatingQueue } from './conflating-queue.ts';
import type { InformerEvent } from './object-change.ts';

/** `next` receives each event; `end` is called once, when the informer closes. */
export interface InformerObserver<T extends KubernetesObject> {
  readonly next: (event: InformerEvent<T>) => void;
  readonly end: () => void;
}

/** `observe` starts to observe and returns a function that stops it. Each iterator observes on its own, from its first step on. */
export function informerEvents<T extends KubernetesObject>(
  observe: (observer: InformerObserver<T>) => () => void,
  signal?: AbortSignal,
): AsyncIterable<InformerEvent<T>> {
  return { [Symbol.asyncIterator]: () => new InformerEventIterator(observe, signal) };
}

class InformerEventIterator<T extends KubernetesObject> implements AsyncIterator<InformerEvent<T>, undefined> {
  readonly #observe: (observer: InformerObserver<T>) => () => void;
  readonly #signal: AbortSignal | undefined;
  readonly #queue = new ConflatingQueue<T>();
  // Invariant: the additions of the replay come before `synced`; later changes wait behind it.
  readonly #beforeSynced = new ConflatingQueue<T>();
  #syncedPhase: 'ahead' | 'pending' | 'told' = 'ahead';
  #stop: (() => void) | undefined;
  #isOver = false;
  readonly #waiting: ((result: IteratorResult<InformerEvent<T>, undefined>) => void)[] = [];

  constructor(observe: (observer: InformerObserver<T>) => () => void, signal: AbortSignal | undefined) {
    this.#observe = observe;
    this.#signal = signal;
  }

  next(): Promise<IteratorResult<InformerEvent<T>, undefined>> {
    this.#begin();
    const event = this.#isOver ? undefined : this.#take();
    if (event !== undefined) return Promise.resolve({ done: false, value: event });
    if (this.#isOver) return Promise.resolve({ done: true, value: undefined });
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  return(): Promise<IteratorResult<InformerEvent<T>, undefined>> {
    this.#finish();
    return Promise.resolve({ done: true, value: undefined });
  }

  #begin(): void {
    if (this.#stop !== undefined || this.#isOver) return;
    if (this.#signal?.aborted === true) {
      this.#isOver = true;
      return;
    }
    addAbortListener(this.#signal, this.#finish);
    this.#stop = () => undefined;
    const stop = this.#observe({ next: (event) => this.#push(event), end: this.#finish });
    if (this.#isOver) stop();
    else this.#stop = stop;
  }

  #push(event: InformerEvent<T>): void {
    if (event.type === 'synced') this.#syncedPhase = 'pending';
    else this.#queueFor(event.key).push(event);
    while (this.#waiting.length > 0) {
      const ready = this.#take();
      if (ready === undefined) return;
      this.#waiting.shift()?.({ done: false, value: ready });
    }
  }

  /** Returns the queue for a key: an object that still waits as a part of the initial state absorbs later changes. */
  #queueFor(key: ObjectKey): ConflatingQueue<T> {
    return this.#syncedPhase === 'ahead' || this.#beforeSynced.has(key) ? this.#beforeSynced : this.#queue;
  }

  #take(): InformerEvent<T> | undefined {
    const early = this.#beforeSynced.shift();
    if (early !== undefined) return early;
    if (this.#syncedPhase === 'pending') {
      this.#syncedPhase = 'told';
      return { type: 'synced' };
    }
    return this.#queue.shift();
  }

  readonly #finish = (): void => {
    this.#isOver = true;
    removeAbortListener(this.#signal, this.#finish);
    this.#stop?.();
    this.#queue.clear();
    this.#beforeSynced.clear();
    for (const resolve of this.#waiting.splice(0)) resolve({ done: true, value: undefined });
  };
}
