// Changes that wait for a slow receiver: at most one pending change per live object (invariant I5). Used by slow handlers,
// informer.watchEvents() and conflateByKey.
import type { KubernetesObject, ObjectKey } from '@kapstan/api';
import type { AddedChange, DeletedChange, ObjectChange, UpdatedChange } from './object-change.ts';

interface Entry<T extends KubernetesObject> {
  /** The deletion of an object that the receiver knows. */
  deletion: DeletedChange<T> | undefined;
  /** The change of the live object. */
  change: AddedChange<T> | UpdatedChange<T> | undefined;
}

/** A keyed queue of changes. A key keeps its place in line. */
export class ConflatingQueue<T extends KubernetesObject> {
  readonly #entries = new Map<ObjectKey, Entry<T>>();
  /**
   * Iterator before the first key that no shift has reached. It is kept between shifts, because a new one would walk over the holes that
   * they left.
   */
  #cursor: Iterator<ObjectKey> | undefined;
  /** Keys before the cursor that still wait, in their order. They belong to busy receivers, so they are few. */
  readonly #passed = new Set<ObjectKey>();
  #conflated = 0;

  /** Number of keys with a pending change. */
  get size(): number {
    return this.#entries.size;
  }

  /** True when a change of this key is pending. */
  has(key: ObjectKey): boolean {
    return this.#entries.has(key);
  }

  /** Number of changes that were merged into others so far. */
  get conflated(): number {
    return this.#conflated;
  }

  /**
   * Adds a change, merged with the pending one of its key: an update keeps the newest object and the oldest old one; an object that was
   * added and deleted unseen is dropped. Returns the pending addition that was dropped in that way.
   */
  push(change: ObjectChange<T>): AddedChange<T> | undefined {
    const entry = this.#entries.get(change.key);
    if (entry === undefined) {
      const isDeletion = change.type === 'deleted';
      this.#entries.set(change.key, {
        deletion: isDeletion ? change : undefined,
        change: isDeletion ? undefined : change,
      });
      return undefined;
    }
    if (change.type === 'deleted') return this.#bury(entry, change);
    if (entry.change !== undefined) this.#conflated++;
    entry.change = entry.change === undefined ? change : merge(entry.change, change);
    return undefined;
  }

  /** Takes the oldest change whose key is free; undefined when there is none. */
  shift(isFree: (key: ObjectKey) => boolean = () => true): ObjectChange<T> | undefined {
    for (const key of this.#passed) if (isFree(key)) return this.#take(key);
    this.#cursor ??= this.#entries.keys();
    for (let next = this.#cursor.next(); next.done !== true; next = this.#cursor.next()) {
      const key = next.value;
      if (this.#passed.has(key)) continue;
      if (isFree(key)) return this.#take(key);
      this.#passed.add(key);
    }
    // An iterator that has ended does not see keys that are added later.
    this.#cursor = undefined;
    return undefined;
  }

  clear(): void {
    this.#entries.clear();
    this.#passed.clear();
    this.#cursor = undefined;
  }

  #take(key: ObjectKey): ObjectChange<T> | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    const { deletion, change } = entry;
    if (deletion !== undefined && change !== undefined) {
      entry.deletion = undefined;
      this.#passed.add(key);
    } else this.#forget(key);
    return deletion ?? change;
  }

  #forget(key: ObjectKey): void {
    this.#entries.delete(key);
    this.#passed.delete(key);
  }

  #bury(entry: Entry<T>, deletion: DeletedChange<T>): AddedChange<T> | undefined {
    const { change } = entry;
    entry.change = undefined;
    this.#conflated++;
    if (change?.type !== 'added') {
      entry.deletion = deletion;
      return undefined;
    }
    // The receiver never saw this object, so it needs no deletion; the pending deletion of an earlier object with this key stays.
    if (entry.deletion === undefined) this.#forget(deletion.key);
    return change;
  }
}

function merge<T extends KubernetesObject>(
  pending: AddedChange<T> | UpdatedChange<T>,
  next: AddedChange<T> | UpdatedChange<T>,
): AddedChange<T> | UpdatedChange<T> {
  return { ...pending, object: next.object };
}
