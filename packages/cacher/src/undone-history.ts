// UndoneHistory: the changes after a revision, undone: what there was under each key that changed. Read from the ring and
// kept for the pages that follow the first. Used by watch-cache.ts.
import type { KubernetesObject, Revision } from '@kapstan/api';
import type { CacheEntry } from './cache-entry.ts';
import type { HistoryRing } from './history-ring.ts';

// As many clients may page at different revisions before one of them has to read the ring anew.
const maxKept = 4;

interface Undone<T extends KubernetesObject> {
  /** Ring position of the first change after the revision. */
  readonly from: number;
  /** Ring position of the first change that is not undone yet. */
  end: number;
  readonly before: Map<string, CacheEntry<T> | undefined>;
}

/** Holds nothing that the ring does not hold (I5). */
export class UndoneHistory<T extends KubernetesObject> {
  readonly #ring: HistoryRing<T>;
  // Least recently used first.
  readonly #kept = new Map<Revision, Undone<T>>();

  constructor(ring: HistoryRing<T>) {
    this.#ring = ring;
  }

  /** Revisions whose undone changes are kept. */
  get size(): number {
    return this.#kept.size;
  }

  /**
   * For each key that changed after the revision: what there was under it, undefined for nothing. The ring must hold all
   * changes after the revision. Do not keep the map beyond this turn.
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

  /** To be called after the ring changed: forgets what it does not hold any more. */
  trim(): void {
    if (this.#kept.size === 0) return;
    for (const [revision, { from }] of this.#kept) if (from < this.#ring.start) this.#kept.delete(revision);
  }
}
