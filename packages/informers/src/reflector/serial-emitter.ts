// Ordered delivery to listeners, never one inside another (invariant I4), which an rxjs Subject does not guarantee.

/** Called with each value; must be fast. */
export type EmitterListener<T> = (value: T) => void;

export interface SerialEmitterOptions<T> {
  /**
   * Receives errors that a listener throws; the other listeners and the emitter continue. Default: the error is
   * rethrown in a microtask as an uncaught error.
   */
  readonly onListenerError?: (error: unknown, value: T) => void;
}

interface Entry<T> {
  readonly listener: EmitterListener<T>;
  isActive: boolean;
}

/**
 * Calls listeners in the order of their subscription, one value after the other. A value that is emitted during a
 * delivery is delivered after it, so all listeners see all values in one order. A listener gets the values emitted
 * after it subscribed, and none after it left.
 */
export class SerialEmitter<T> {
  // Invariant: the list is replaced, never changed, so that a delivery under way keeps its own list.
  #entries: readonly Entry<T>[] = [];
  #isDelivering = false;
  readonly #queue: { readonly value: T; readonly entries: readonly Entry<T>[] }[] = [];
  readonly #onListenerError: (error: unknown, value: T) => void;

  constructor(options: SerialEmitterOptions<T> = {}) {
    this.#onListenerError = options.onListenerError ?? rethrowLater;
  }

  get listenerCount(): number {
    return this.#entries.length;
  }

  /** Returns the function that ends the subscription. Idempotent. */
  subscribe(listener: EmitterListener<T>): () => void {
    const entry: Entry<T> = { listener, isActive: true };
    this.#entries = [...this.#entries, entry];
    return () => {
      entry.isActive = false;
      this.#entries = this.#entries.filter((other) => other !== entry);
    };
  }

  /** Delivers the value now, or after the delivery under way. */
  emit(value: T): void {
    if (this.#isDelivering) {
      this.#queue.push({ value, entries: this.#entries });
      return;
    }
    this.#isDelivering = true;
    try {
      this.#deliver(value, this.#entries);
      for (let next = this.#queue.shift(); next !== undefined; next = this.#queue.shift()) {
        this.#deliver(next.value, next.entries);
      }
    } finally {
      this.#isDelivering = false;
    }
  }

  #deliver(value: T, entries: readonly Entry<T>[]): void {
    for (const entry of entries) {
      if (!entry.isActive) continue;
      try {
        entry.listener(value);
      } catch (error) {
        this.#onListenerError(error, value);
      }
    }
  }
}

function rethrowLater(error: unknown): void {
  queueMicrotask(() => {
    throw error;
  });
}
