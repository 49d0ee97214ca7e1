// CacheEntry is the record of one object in the indexed store. CacheEvent is the record of a storage's ChangeEvent in
// the ring.
import type { KubernetesObject, Revision } from '@kapstan/api';
import type { Attributes, ChangeEvent, Stored } from '@kapstan/storage';

/** One object with its labels and fields, extracted once for all selectors. Never changed. */
export interface CacheEntry<T extends KubernetesObject> {
  readonly key: string;
  readonly stored: Stored<T>;
  readonly attributes: Attributes;
}

export interface CacheEventInit<T extends KubernetesObject> {
  readonly key: string;
  readonly revision: Revision;
  /** The time when the cache received the change, on the monotonic clock, in milliseconds. */
  readonly timeMs: number;
  /** State after the change; absent for a deletion. */
  readonly current?: CacheEntry<T> | undefined;
  /** State before; absent for a creation. */
  readonly previous?: CacheEntry<T> | undefined;
  /** For a deletion: the last state as the storage reported it. */
  readonly lastState?: Stored<T> | undefined;
}

/** One change, shared by all watchers. */
export class CacheEvent<T extends KubernetesObject> {
  readonly key: string;
  readonly revision: Revision;
  readonly timeMs: number;
  readonly current: CacheEntry<T> | undefined;
  readonly previous: CacheEntry<T> | undefined;
  /**
   * Bytes of the objects that only the history keeps after the change: the previous state, and the state that a
   * deletion shows.
   */
  readonly historyBytes: number;
  #isReleased = false;
  #lastState: Stored<T> | undefined;
  #told: ChangeEvent<T> | undefined;

  constructor(init: CacheEventInit<T>) {
    this.key = init.key;
    this.revision = init.revision;
    this.timeMs = init.timeMs;
    this.current = init.current;
    this.previous = init.previous;
    this.#lastState = init.lastState;
    this.historyBytes = (init.previous?.stored.storedBytes ?? 0) + (init.lastState?.storedBytes ?? 0);
  }

  /** Bytes of all objects of the change, before and after it. */
  get bytes(): number {
    return this.historyBytes + (this.current?.stored.storedBytes ?? 0);
  }

  get isReleased(): boolean {
    return this.#isReleased;
  }

  /** The object in a DELETED event: the previous state at the revision of the change. Made once for all watchers. */
  get lastState(): Stored<T> | undefined {
    this.#lastState ??= this.previous?.stored.atRevision(this.revision);
    return this.#lastState;
  }

  /**
   * Returns the event for a watch to which the change has this type. The last one is kept, since nearly all watches see
   * it alike. `ADDED` and `MODIFIED` need `current`.
   */
  as(type: ChangeEvent<T>['type']): ChangeEvent<T> {
    if (this.#told?.type !== type)
      this.#told = { type, stored: (type === 'DELETED' ? this.lastState : this.current?.stored) as Stored<T> };
    return this.#told;
  }

  /** Drops the parsed objects of the change and keeps their bytes. */
  release(): void {
    this.#isReleased = true;
    this.#told = undefined;
    this.current?.stored.release();
    this.previous?.stored.release();
    this.#lastState?.release();
  }
}
