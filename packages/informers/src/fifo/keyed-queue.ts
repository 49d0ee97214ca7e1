// Values by key, in the order in which the keys arrived. Used by DeltaFifo.
import type { ObjectKey } from '@kapstan/api';

export interface QueuedEntry<V> {
  readonly key: ObjectKey;
  readonly value: V;
}

/** A key keeps its place in line until it is shifted. */
export class KeyedQueue<V> {
  // Invariant: it comes before all of #rest. Usually an entry arrives alone and leaves at once, and then no Map has to grow and shrink.
  #first: QueuedEntry<V> | undefined;
  /** All other entries. The map is dropped with its last entry, so it is never empty. */
  #rest: Map<ObjectKey, V> | undefined;
  /** Iterator before the first of #rest. It is kept between shifts, because a new one would walk over the holes that they left. */
  #cursor: Iterator<[ObjectKey, V]> | undefined;

  /** Number of waiting entries. */
  get size(): number {
    return (this.#rest?.size ?? 0) + (this.#first === undefined ? 0 : 1);
  }

  has(key: ObjectKey): boolean {
    return this.#first?.key === key || (this.#rest?.has(key) ?? false);
  }

  get(key: ObjectKey): V | undefined {
    return this.#first?.key === key ? this.#first.value : this.#rest?.get(key);
  }

  /** Returns a copy of the keys in order. */
  keys(): ObjectKey[] {
    const rest = this.#rest?.keys() ?? [];
    return this.#first === undefined ? [...rest] : [this.#first.key, ...rest];
  }

  /** Adds a key at the end. Precondition: it is not present. */
  push(key: ObjectKey, value: V): void {
    if (this.#first === undefined && this.#rest === undefined) {
      this.#first = { key, value };
      return;
    }
    this.#rest ??= new Map();
    this.#rest.set(key, value);
  }

  /** Takes the oldest entry; undefined when there is none. */
  shift(): QueuedEntry<V> | undefined {
    const first = this.#first;
    if (first === undefined) return this.#shiftRest();
    this.#first = undefined;
    return first;
  }

  #shiftRest(): QueuedEntry<V> | undefined {
    if (this.#rest === undefined) return undefined;
    this.#cursor ??= this.#rest.entries();
    const next = this.#cursor.next();
    // This cannot happen, because #rest is not empty; the compiler does not know that.
    if (next.done === true) return undefined;
    const [key, value] = next.value;
    this.#rest.delete(key);
    if (this.#rest.size === 0) {
      this.#rest = undefined;
      this.#cursor = undefined;
    }
    return { key, value };
  }
}
