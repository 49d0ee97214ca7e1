// RankHeap: keys ordered by a number, the smallest first and each key once. Used by delaying-queue.ts (due times) and
// queue-order.ts (turns).

interface RankedKey<K> {
  readonly key: K;
  rank: number;
  /** Decides between equal ranks, which leave in order of arrival. */
  order: number;
  /** Place in the heap. */
  index: number;
}

/** A heap of keys with ranks. Memory: proportional to its keys. Every operation is O(log n). */
export class RankHeap<K> {
  // Invariant: heap[entry.index] is the entry, and no entry precedes its parent, which is at (index - 1) >> 1.
  readonly #heap: RankedKey<K>[] = [];
  readonly #entries = new Map<K, RankedKey<K>>();
  #orders = 0;

  get size(): number {
    return this.#heap.length;
  }

  /** The smallest rank; undefined when empty. */
  get firstRank(): number | undefined {
    return this.#heap[0]?.rank;
  }

  /** The key of the smallest rank; undefined when empty. */
  get first(): K | undefined {
    return this.#heap[0]?.key;
  }

  /** Returns the rank of a key; undefined when it is not there. */
  rankOf(key: K): number | undefined {
    return this.#entries.get(key)?.rank;
  }

  /** Returns up to `count` keys of the smallest ranks, in their order. O(count²), whatever the size. */
  smallest(count: number): readonly { readonly key: K; readonly rank: number }[] {
    const taken: { readonly key: K; readonly rank: number }[] = [];
    // Entries whose parents have been taken: one of them is next.
    const candidates = this.#heap.slice(0, 1);
    while (taken.length < count) {
      const next = candidates.reduce<RankedKey<K> | undefined>(
        (best, entry) => (best === undefined || isBefore(entry, best) ? entry : best),
        undefined,
      );
      if (next === undefined) break;
      taken.push({ key: next.key, rank: next.rank });
      candidates.splice(candidates.indexOf(next), 1, ...this.#heap.slice(2 * next.index + 1, 2 * next.index + 3));
    }
    return taken;
  }

  /** Adds a key. A key that is there keeps the smaller of both ranks. */
  put(key: K, rank: number): void {
    const present = this.#entries.get(key);
    if (present !== undefined) {
      if (rank >= present.rank) return;
      present.rank = rank;
      present.order = this.#orders++;
      this.#siftUp(present);
      return;
    }
    const entry = { key, rank, order: this.#orders++, index: this.#heap.length };
    this.#entries.set(key, entry);
    this.#heap.push(entry);
    this.#siftUp(entry);
  }

  /** Takes out the key of the smallest rank; undefined when empty. */
  take(): K | undefined {
    const [first] = this.#heap;
    const last = this.#heap.pop();
    if (first === undefined || last === undefined) return undefined;
    this.#entries.delete(first.key);
    if (last !== first) this.#siftDown(last);
    return first.key;
  }

  clear(): void {
    this.#heap.length = 0;
    this.#entries.clear();
  }

  #place(entry: RankedKey<K>, index: number): void {
    this.#heap[index] = entry;
    entry.index = index;
  }

  #siftUp(entry: RankedKey<K>): void {
    let { index } = entry;
    while (index > 0) {
      const parent = this.#heap[(index - 1) >> 1] as RankedKey<K>;
      if (!isBefore(entry, parent)) break;
      const above = parent.index;
      this.#place(parent, index);
      index = above;
    }
    this.#place(entry, index);
  }

  /** Moves the entry down from the root, whose former entry was taken. */
  #siftDown(entry: RankedKey<K>): void {
    let index = 0;
    for (;;) {
      const child = this.#firstChild(index);
      if (child === undefined || !isBefore(child, entry)) break;
      const below = child.index;
      this.#place(child, index);
      index = below;
    }
    this.#place(entry, index);
  }

  #firstChild(index: number): RankedKey<K> | undefined {
    const left = this.#heap[2 * index + 1];
    const right = this.#heap[2 * index + 2];
    return right !== undefined && left !== undefined && isBefore(right, left) ? right : left;
  }
}

function isBefore<K>(a: RankedKey<K>, b: RankedKey<K>): boolean {
  return a.rank < b.rank || (a.rank === b.rank && a.order < b.order);
}
