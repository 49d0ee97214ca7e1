// Values by key, in the order in which their keys came. Used by DeltaFifo.
import type { ObjectKey } from '@kapstan/api';

export interface QueuedEntry<V> {
  readonly key: ObjectKey;
  readonly value: V;
}

/** A key keeps its place in line until it is shifted. */
export class KeyedQueue<V> {
  // Invariant: before all of #rest. Mostly an entry comes alone and leaves at once; then the Map, which would grow and shrink, rests.
  #first: QueuedEntry<V> | undefined;
  readonly #rest = new Map<ObjectKey, V>();
  /** Stands before the first of #rest. Kept between shifts: a new one walks over the holes that former shifts left. */
  #cursor: Iterator<[ObjectKey, V]> | undefined;

  /** Entries that wait. */
  get size(): number {
    return this.#rest.size + (this.#first === undefined ? 0 : 1);
  }

  has(key: ObjectKey): boolean {
    return this.#first?.key === key || this.#rest.has(key);
  }

  get(key: ObjectKey): V | undefined {
    return this.#first?.key === key ? this.#first.value : this.#rest.get(key);
  }

  /** Keys in their order: a copy. */
  keys(): ObjectKey[] {
    return this.#first === undefined ? [...this.#rest.keys()] : [this.#first.key, ...this.#rest.keys()];
  }

  /** Puts a key that is not here at the end. */
  push(key: ObjectKey, value: V): void {
    if (this.#first === undefined && this.#rest.size === 0) this.#first = { key, value };
    else this.#rest.set(key, value);
  }

  /** Takes the oldest entry; undefined when there is none. */
  shift(): QueuedEntry<V> | undefined {
    const first = this.#first;
    if (first === undefined) return this.#rest.size === 0 ? undefined : this.#shiftRest();
    this.#first = undefined;
    return first;
  }

  #shiftRest(): QueuedEntry<V> | undefined {
    this.#cursor ??= this.#rest.entries();
    const next = this.#cursor.next();
    // Never: it ends only where it is asked while nothing is there.
    if (next.done === true) return undefined;
    const [key, value] = next.value;
    this.#rest.delete(key);
    return { key, value };
  }
}
