// The FIFO that keeps every change in order of arrival, chosen by `fifo: 'inOrder'`. Source: client-go
// tools/cache/the_real_fifo.go. Differences from DeltaFifo, each named in fifo.test.ts: nothing is collected or merged; deletions of
// unknown objects are kept; a replace puts its tombstones before its objects; it grows with the number of changes.
import type { DeepReadonly, KubernetesObject, ObjectKey } from '@kapstan/api';
import {
  DeletedFinalStateUnknown,
  deletionHandlingKey,
  incomingVersion,
  lastStateOf,
} from './deleted-final-state-unknown.ts';
import {
  type Delta,
  type DeltaType,
  type Fifo,
  FifoClosedError,
  type FifoOptions,
  type ProcessDeltas,
  transformed,
} from './fifo.ts';
import { VersionTrail } from './version-trail.ts';

interface Entry<T extends KubernetesObject> {
  readonly key: ObjectKey;
  readonly delta: Delta<T>;
}

/** A queue of single changes. */
export class InOrderFifo<T extends KubernetesObject> implements Fifo<T> {
  // Invariant: entries before #head are popped. They are cut off once they are more than half of the array, so that a pop costs O(1).
  #entries: Entry<T>[] = [];
  #head = 0;
  readonly #versions = new VersionTrail();
  readonly #options: FifoOptions<T>;
  #isPopulated = false;
  #initialPopulation = 0;
  #isClosed = false;

  constructor(options: FifoOptions<T> = {}) {
    this.#options = options;
  }

  get length(): number {
    return this.#entries.length - this.#head;
  }

  get hasSynced(): boolean {
    return this.#isPopulated && this.#initialPopulation === 0;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  get resourceVersion(): string {
    return this.#versions.reached;
  }

  add(object: DeepReadonly<T>): void {
    this.#isPopulated = true;
    this.#queue('Added', object);
    this.#versions.note(incomingVersion(object));
  }

  update(object: DeepReadonly<T>): void {
    this.#isPopulated = true;
    this.#queue('Updated', object);
    this.#versions.note(incomingVersion(object));
  }

  delete(object: DeepReadonly<T> | DeletedFinalStateUnknown<T>): void {
    const key = deletionHandlingKey(object);
    this.#isPopulated = true;
    try {
      this.#queue('Deleted', object);
    } catch (error) {
      // As in DeltaFifo, a deleted object must not stay cached.
      const last = new DeletedFinalStateUnknown(key, this.#lastState(key));
      this.#append({ key, delta: { type: 'Deleted', object: last } });
      throw error;
    } finally {
      this.#versions.note(incomingVersion(object));
    }
  }

  // Atomic: the tombstones, the list and the count of the initial population belong together.
  replace(objects: Iterable<DeepReadonly<T>>, resourceVersion?: string): void {
    const items = [...objects];
    const listed = new Set(items.map(deletionHandlingKey));
    const queued = this.#newestQueued();
    for (const [key, { type, object }] of queued) {
      if (listed.has(key) || type === 'Deleted') continue;
      this.#queue('Deleted', new DeletedFinalStateUnknown(key, object as DeepReadonly<T>));
    }
    const known = this.#options.knownObjects;
    for (const key of known === undefined ? [] : [...known.listKeys()]) {
      if (listed.has(key) || queued.has(key)) continue;
      this.#queue('Deleted', new DeletedFinalStateUnknown<T>(key, known?.getByKey(key)));
    }
    for (const object of items) this.#queue('Replaced', object);
    this.#versions.note(resourceVersion);
    if (this.#isPopulated) return;
    this.#isPopulated = true;
    this.#initialPopulation = this.length;
  }

  bookmark(resourceVersion: string): void {
    this.#versions.note(resourceVersion);
  }

  resync(): void {
    const known = this.#options.knownObjects;
    if (known === undefined) return;
    const queued = this.#newestQueued();
    for (const key of [...known.listKeys()]) {
      const object = queued.has(key) ? undefined : known.getByKey(key);
      if (object !== undefined) this.#append({ key, delta: { type: 'Sync', object } });
    }
  }

  pop(process: ProcessDeltas<T>): boolean {
    const entry = this.#take();
    if (entry === undefined) {
      if (this.#isClosed) throw new FifoClosedError();
      return false;
    }
    try {
      process([entry.delta], !this.hasSynced, entry.key);
    } finally {
      if (this.#initialPopulation > 0) this.#initialPopulation--;
    }
    return true;
  }

  close(): void {
    this.#isClosed = true;
  }

  #take(): Entry<T> | undefined {
    const entry = this.#entries[this.#head];
    if (entry === undefined) return undefined;
    this.#head++;
    this.#versions.notePopped();
    if (this.#head === this.#entries.length || (this.#head >= 1024 && this.#head * 2 > this.#entries.length)) {
      this.#entries = this.#entries.slice(this.#head);
      this.#head = 0;
    }
    return entry;
  }

  #queue(type: DeltaType, incoming: DeepReadonly<T> | DeletedFinalStateUnknown<T>): void {
    const key = deletionHandlingKey(incoming);
    const object = transformed(key, incoming, this.#options.transform);
    this.#append({ key, delta: { type, object } });
  }

  #append(entry: Entry<T>): void {
    this.#entries.push(entry);
    this.#versions.noteQueued();
  }

  #lastState(key: ObjectKey): DeepReadonly<T> | undefined {
    const queued = this.#newestQueued().get(key);
    return queued === undefined ? this.#options.knownObjects?.getByKey(key) : lastStateOf<T>(queued.object);
  }

  #newestQueued(): Map<ObjectKey, Delta<T>> {
    const newest = new Map<ObjectKey, Delta<T>>();
    for (let i = this.#head; i < this.#entries.length; i++) {
      const entry = this.#entries[i];
      if (entry !== undefined) newest.set(entry.key, entry.delta);
    }
    return newest;
  }
}
