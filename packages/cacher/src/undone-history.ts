// UndoneHistory undoes the changes after a revision: it knows the former entry of each key that changed. It reads them
// from the ring and keeps them for the later pages of a list. Used by watch-cache.ts.
import type { KubernetesObject, Revision } from '@kapstan/api';
import type { CacheEntry } from './cache-entry.ts';
import type { HistoryRing } from './history-ring.ts';

// Number of revisions at which clients may page at the same time before one of them has to read the ring again.
const maxKept = 4;

interface Undone<T extends KubernetesObject> {
  /** Ring position of the first change after the revision. */
  readonly from: number;
  /** Ring position of the first change that is not undone yet. */
  end: number;
  readonly before: Map<string, CacheEntry<T> | undefined>;
}

/** Keeps only entries that the ring also holds (I5). */
export class UndoneHistory<T extends KubernetesObject> {
  readonly #ring: HistoryRing<T>;
  // The least recently used revision comes first.
  readonly #kept = new Map<Revision, Undone<T>>();

  constructor(ring: HistoryRing<T>) {
    this.#ring = ring;
  }

  /** Number of revisions whose undone changes are kept. */
  get size(): number {
    return this.#kept.size;
  }

  /**
   * Returns, for each key that changed after the revision, its entry at the revision, or undefined if there was none.
   * The ring must hold all changes after the revision. Do not keep the map beyond this turn.
   */
  since(revision: Revision): ReadonlyMap<string, CacheEntry<T> | undefined> {
    const ring = this.#ring;
    const from = ring.firstAfter(revision);
    const undone = this.#kept.get(revision) ?? { from, end: from, before: new Map() };
    for (; undone.end < ring.end; undone.end++) {
      const event = ring.at(undone.end);
      if (event !== undefined && !undone.before.has(event.key)) undone.before.set(event.key, event.previous);
    }
    this.#kept.delete(revision);
    this.#kept.set(revision, undone);
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= maxKept) break;
      this.#kept.delete(oldest);
    }
    return undone.before;
  }

  /** Forgets revisions that the ring no longer holds. Must be called after the ring has changed. */
  trim(): void {
    if (this.#kept.size === 0) return;
    for (const [revision, { from }] of this.#kept) if (from < this.#ring.start) this.#kept.delete(revision);
  }
}
