// CacheEntry and CacheEvent: what the indexed store holds of one object, and what the ring makes of a ChangeEvent of the storage.
import type { KubernetesObject, Revision } from '@kapstan/api';
import type { Attributes, StorageEvent, Stored } from '@kapstan/storage';

/** What the storage says that happened to one object. */
export type ChangeEvent<T extends KubernetesObject> = Exclude<StorageEvent<T>, { type: 'BOOKMARK' }>;

/** One object with the texts that selectors look at, extracted once. Never changed. */
export interface CacheEntry<T extends KubernetesObject> {
  readonly key: string;
  readonly stored: Stored<T>;
  readonly attributes: Attributes;
}

export interface CacheEventInit<T extends KubernetesObject> {
  readonly key: string;
  readonly revision: Revision;
  /** When the cache learnt of it, on the monotonic clock, in milliseconds. */
  readonly timeMs: number;
  /** State after the change; absent for a deletion. */
  readonly current?: CacheEntry<T>;
  /** State before; absent for a creation. */
  readonly previous?: CacheEntry<T>;
  /** Of a deletion: what the storage told of it. */
  readonly lastState?: Stored<T>;
}

/** One change, shared by all watchers. */
export class CacheEvent<T extends KubernetesObject> {
  readonly key: string;
  readonly revision: Revision;
  readonly timeMs: number;
  readonly current: CacheEntry<T> | undefined;
  readonly previous: CacheEntry<T> | undefined;
  /** Bytes of the objects that nothing but the history keeps once the change is over: the state before, and what a deletion shows. */
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

  /** Bytes of the objects on either side of the change. */
  get bytes(): number {
    return this.historyBytes + (this.current?.stored.storedBytes ?? 0);
  }

  get isReleased(): boolean {
    return this.#isReleased;
  }

  /** What a DELETED event shows: the state before, at the revision of the change. Made once for all watchers. */
  get lastState(): Stored<T> | undefined {
    this.#lastState ??= this.previous?.stored.atRevision(this.revision);
    return this.#lastState;
  }

  /** What a watch is told that sees the change so. The last one made is kept, as nearly all watches see it alike. `ADDED` and `MODIFIED` need `current`. */
  as(type: ChangeEvent<T>['type']): ChangeEvent<T> {
    if (this.#told?.type !== type)
      this.#told = { type, stored: (type === 'DELETED' ? this.lastState : this.current?.stored) as Stored<T> };
    return this.#told;
  }

  /** Lets go of the objects on either side of the change, not of their bytes. */
  release(): void {
    this.#isReleased = true;
    this.#told = undefined;
    this.current?.stored.release();
    this.previous?.stored.release();
    this.#lastState?.release();
  }
}
