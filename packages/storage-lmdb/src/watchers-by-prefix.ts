// WatchersByPrefix finds the watches that may concern a key without a look at each of them, because a server has one
// for each served version of each definition. Used by watch-feed.ts.

export class WatchersByPrefix<Watcher extends { readonly prefix: string }> {
  readonly #all: Set<Watcher> = new Set();
  /** Watchers whose prefix ends with a slash, as those of resources and namespaces do, by prefix. */
  readonly #bySlashed: Map<string, Set<Watcher>> = new Map();
  /** Watchers with any other prefix, which is that of one key or empty. */
  readonly #others: Set<Watcher> = new Set();

  get size(): number {
    return this.#all.size;
  }

  [Symbol.iterator](): IterableIterator<Watcher> {
    return this.#all.values();
  }

  add(watcher: Watcher): void {
    this.#all.add(watcher);
    if (!watcher.prefix.endsWith('/')) this.#others.add(watcher);
    else {
      const known = this.#bySlashed.get(watcher.prefix);
      if (known === undefined) this.#bySlashed.set(watcher.prefix, new Set([watcher]));
      else known.add(watcher);
    }
  }

  /** Returns false when the watcher is not there. */
  delete(watcher: Watcher): boolean {
    this.#others.delete(watcher);
    const those = this.#bySlashed.get(watcher.prefix);
    those?.delete(watcher);
    if (those?.size === 0) this.#bySlashed.delete(watcher.prefix);
    return this.#all.delete(watcher);
  }

  /** Returns sets that hold each watcher with whose prefix the key begins, once; others may be among them. */
  candidates(key: string): readonly ReadonlySet<Watcher>[] {
    const found: ReadonlySet<Watcher>[] = [this.#others];
    for (let slash = key.indexOf('/'); slash >= 0; slash = key.indexOf('/', slash + 1)) {
      const those = this.#bySlashed.get(key.slice(0, slash + 1));
      if (those !== undefined) found.push(those);
    }
    return found;
  }
}
