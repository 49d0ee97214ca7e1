// The default FIFO: changes gathered by object, objects in the order of their first change. Bounded by the number of objects.
// Source: client-go tools/cache/delta_fifo.go.
import type { DeepReadonly, KubernetesObject, ObjectKey } from '@kapstan/api';
import {
  DeletedFinalStateUnknown,
  deletionHandlingKey,
  incomingVersion,
  isDeletedFinalStateUnknown,
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

/** Keyed queue of changes. A key keeps its place in line while changes are added to it. */
export class DeltaFifo<T extends KubernetesObject> implements Fifo<T> {
  // Invariant: a key is here exactly while it has changes; Map order is the order of the queue.
  readonly #items = new Map<ObjectKey, Delta<T>[]>();
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
    this.#queue('Added', object);
    this.#versions.note(incomingVersion(object));
  }

  update(object: DeepReadonly<T>): void {
    this.#isPopulated = true;
    this.#queue('Updated', object);
    this.#versions.note(incomingVersion(object));
  }

  /** Ignored when nobody has heard of the object. */
  delete(object: DeepReadonly<T> | DeletedFinalStateUnknown<T>): void {
    const key = deletionHandlingKey(object);
    this.#isPopulated = true;
    const isKnown = this.#options.knownObjects?.getByKey(key) !== undefined;
    if (isKnown || this.#items.has(key)) this.#queue('Deleted', object);
    this.#versions.note(incomingVersion(object));
  }

  // Atomic: the list, its tombstones and the count of the initial population belong together.
  replace(objects: Iterable<DeepReadonly<T>>, resourceVersion?: string): void {
    const listed = new Set<ObjectKey>();
    for (const object of objects) {
      listed.add(deletionHandlingKey(object));
      this.#queue('Replaced', object);
    }
    const deletions = this.#buryQueued(listed) + this.#buryKnown(listed);
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
      // What is queued is newer than what is known.
      if (this.#items.has(key)) continue;
      const object = known.getByKey(key);
      if (object !== undefined) this.#append(key, { type: 'Sync', object });
    }
  }

  pop(process: ProcessDeltas<T>): boolean {
    const next = this.#items.entries().next();
    if (next.done === true) {
      if (this.#isClosed) throw new FifoClosedError();
      return false;
    }
    const [key, deltas] = next.value;
    this.#items.delete(key);
    this.#versions.notePopped();
    const isInInitialList = !this.hasSynced;
    try {
      process(deltas, isInInitialList);
    } finally {
      if (this.#initialPopulation > 0) this.#initialPopulation--;
    }
    return true;
  }

  close(): void {
    this.#isClosed = true;
  }

  #queue(type: DeltaType, incoming: DeepReadonly<T> | DeletedFinalStateUnknown<T>): void {
    const key = deletionHandlingKey(incoming);
    const object = transformed(key, incoming, this.#options.transform);
    this.#append(key, { type, object });
  }

  #append(key: ObjectKey, delta: Delta<T>): void {
    const deltas = this.#items.get(key);
    if (deltas === undefined) {
      this.#items.set(key, [delta]);
      this.#versions.noteQueued();
      return;
    }
    deltas.push(delta);
    collapseDeletions(deltas);
  }

  #buryQueued(listed: ReadonlySet<ObjectKey>): number {
    let count = 0;
    for (const [key, deltas] of this.#items) {
      if (listed.has(key)) continue;
      const newest = deltas.at(-1)?.object;
      const last = newest !== undefined && isDeletedFinalStateUnknown<T>(newest) ? newest.object : newest;
      this.#queue('Deleted', new DeletedFinalStateUnknown(key, last as DeepReadonly<T> | undefined));
      count++;
    }
    return count;
  }

  #buryKnown(listed: ReadonlySet<ObjectKey>): number {
    const known = this.#options.knownObjects;
    let count = 0;
    for (const key of known === undefined ? [] : [...known.listKeys()]) {
      if (listed.has(key) || this.#items.has(key)) continue;
      this.#queue('Deleted', new DeletedFinalStateUnknown<T>(key, known?.getByKey(key)));
      count++;
    }
    return count;
  }
}

/** Two deletions in a row say the same; the one that knows the final state stays. */
function collapseDeletions<T extends KubernetesObject>(deltas: Delta<T>[]): void {
  const [older, newer] = deltas.slice(-2);
  if (older?.type !== 'Deleted' || newer?.type !== 'Deleted') return;
  deltas.splice(-2, 2, isDeletedFinalStateUnknown<T>(older.object) ? newer : older);
}
