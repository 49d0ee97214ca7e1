// The default FIFO: collects changes by object and orders objects by their first change. Bounded by the number of objects.
// Source: client-go tools/cache/delta_fifo.go.
import type { DeepReadonly, KubernetesObject, ObjectKey } from '@kapstan/api';
import {
  DeletedFinalStateUnknown,
  deletionHandlingKey,
  incomingVersion,
  isDeletedFinalStateUnknown,
  lastStateOf,
} from './deleted-final-state-unknown.ts';
import {
  type Delta,
  type Deltas,
  type DeltaType,
  type Fifo,
  FifoClosedError,
  type FifoOptions,
  type ProcessDeltas,
  transformed,
} from './fifo.ts';
import { KeyedQueue } from './keyed-queue.ts';
import { VersionTrail } from './version-trail.ts';

/** A keyed queue of changes. A key keeps its place in line while changes are added to it. */
export class DeltaFifo<T extends KubernetesObject> implements Fifo<T> {
  // Invariant: a key is present exactly while it has changes.
  readonly #items = new KeyedQueue<Delta<T>[]>();
  readonly #versions = new VersionTrail();
  readonly #options: FifoOptions<T>;
  #isPopulated = false;
  #initialPopulation = 0;
  #isClosed = false;

  constructor(options: FifoOptions<T> = {}) {
    this.#options = options;
  }

  get length(): number {
    return this.#items.size;
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
    this.#queue('Added', deletionHandlingKey(object), object);
    this.#versions.note(incomingVersion(object));
  }

  update(object: DeepReadonly<T>): void {
    this.#isPopulated = true;
    this.#queue('Updated', deletionHandlingKey(object), object);
    this.#versions.note(incomingVersion(object));
  }

  /** Ignores an object that is neither known nor queued. */
  delete(object: DeepReadonly<T> | DeletedFinalStateUnknown<T>): void {
    const key = deletionHandlingKey(object);
    this.#isPopulated = true;
    const known = this.#options.knownObjects?.getByKey(key);
    try {
      if (known !== undefined || this.#items.has(key)) this.#queue('Deleted', key, object);
    } catch (error) {
      // The received object cannot be delivered, but the cached one must be removed, because no later event would remove it. client-go
      // keeps it.
      const last = new DeletedFinalStateUnknown(key, this.#queuedState(key) ?? known);
      this.#append(key, { type: 'Deleted', object: last });
      throw error;
    } finally {
      this.#versions.note(incomingVersion(object));
    }
  }

  // Atomic: the list, its tombstones and the count of the initial population belong together.
  replace(objects: Iterable<DeepReadonly<T>>, resourceVersion?: string): void {
    const queuedBefore = this.#items.keys();
    const listed = new Set<ObjectKey>();
    for (const object of objects) {
      const key = deletionHandlingKey(object);
      listed.add(key);
      this.#queue('Replaced', key, object);
    }
    const deletions = this.#buryQueued(queuedBefore, listed) + this.#buryKnown(listed);
    this.#versions.note(resourceVersion);
    if (this.#isPopulated) return;
    this.#isPopulated = true;
    this.#initialPopulation = listed.size + deletions;
  }

  bookmark(resourceVersion: string): void {
    this.#versions.note(resourceVersion);
  }

  resync(): void {
    const known = this.#options.knownObjects;
    if (known === undefined) return;
    for (const key of [...known.listKeys()]) {
      // A queued state is newer than the known one.
      if (this.#items.has(key)) continue;
      const object = known.getByKey(key);
      if (object !== undefined) this.#append(key, { type: 'Sync', object });
    }
  }

  pop(process: ProcessDeltas<T>): boolean {
    const next = this.#items.shift();
    if (next === undefined) {
      if (this.#isClosed) throw new FifoClosedError();
      return false;
    }
    this.#versions.notePopped();
    const isInInitialList = !this.hasSynced;
    try {
      process(next.value, isInInitialList, next.key);
    } finally {
      if (this.#initialPopulation > 0) this.#initialPopulation--;
    }
    return true;
  }

  addIfNotPresent(key: ObjectKey, deltas: Deltas<T>): void {
    this.#isPopulated = true;
    if (deltas.length === 0 || this.#items.has(key)) return;
    this.#items.push(key, [...deltas]);
    this.#versions.noteQueued();
  }

  close(): void {
    this.#isClosed = true;
  }

  #queue(type: DeltaType, key: ObjectKey, incoming: DeepReadonly<T> | DeletedFinalStateUnknown<T>): void {
    const object = transformed(key, incoming, this.#options.transform);
    this.#append(key, { type, object });
  }

  #append(key: ObjectKey, delta: Delta<T>): void {
    const deltas = this.#items.get(key);
    if (deltas === undefined) {
      this.#items.push(key, [delta]);
      this.#versions.noteQueued();
      return;
    }
    deltas.push(delta);
    collapseDeletions(deltas);
  }

  #queuedState(key: ObjectKey): DeepReadonly<T> | undefined {
    const newest = this.#items.get(key)?.at(-1);
    return newest && lastStateOf<T>(newest.object);
  }

  #buryQueued(queuedBefore: readonly ObjectKey[], listed: ReadonlySet<ObjectKey>): number {
    let count = 0;
    for (const key of queuedBefore) {
      if (listed.has(key)) continue;
      this.#queue('Deleted', key, new DeletedFinalStateUnknown(key, this.#queuedState(key)));
      count++;
    }
    return count;
  }

  #buryKnown(listed: ReadonlySet<ObjectKey>): number {
    const known = this.#options.knownObjects;
    let count = 0;
    for (const key of known === undefined ? [] : [...known.listKeys()]) {
      if (listed.has(key) || this.#items.has(key)) continue;
      this.#queue('Deleted', key, new DeletedFinalStateUnknown<T>(key, known?.getByKey(key)));
      count++;
    }
    return count;
  }
}

/** Merges two consecutive deletions; the one that knows the final state stays. */
function collapseDeletions<T extends KubernetesObject>(deltas: Delta<T>[]): void {
  const [older, newer] = deltas.slice(-2);
  if (older?.type !== 'Deleted' || newer?.type !== 'Deleted') return;
  deltas.splice(-2, 2, isDeletedFinalStateUnknown<T>(older.object) ? newer : older);
}
