// Values by key, in the order in which their keys came. Used by DeltaFifo.
import type { ObjectKey } from '@kapstan/api';

export interface QueuedEntry<V> {
  readonly key: ObjectKey;
  readonly value: V;
}

/** A key keeps its place in line until it is shifted. */
export class KeyedQueue<V> {
  // Invariant: before all of #rest. Mostly an entry comes alone and leaves at once, and no Map has to grow and shrink for it.
  #first: QueuedEntry<V> | undefined;
  /** Never empty: it goes with its last entry. */
  #rest: Map<ObjectKey, V> | undefined;
  /** Stands before the first of #rest. Kept between shifts: a new one walks over the holes that former shifts left. */
  #cursor: Iterator<[ObjectKey, V]> | undefined;

  /** Entries that wait. */
  get size(): number {
    return (this.#rest?.size ?? 0) + (this.#first === undefined ? 0 : 1);
  }

  has(key: ObjectKey): boolean {
    return this.#first?.key === key || (this.#rest?.has(key) ?? false);
  }

  get(key: ObjectKey): V | undefined {
    return this.#first?.key === key ? this.#first.value : this.#rest?.get(key);
  }

  /** Keys in their order: a copy. */
  keys(): ObjectKey[] {
    const rest = this.#rest?.keys() ?? [];
    return this.#first === undefined ? [...rest] : [this.#first.key, ...rest];
  }

  /** Puts a key at the end. Precondition: it is not here. */
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
    // Never, as #rest is not empty; the compiler cannot know.
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
