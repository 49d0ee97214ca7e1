// WatchRegistry: the watches that are open now, so that a server that stops can end them, and their counts.
import { formatGroupResource, type GroupResource } from '@kapstan/api';
import type { WatchResponse } from './watch-response.ts';

interface Overflows extends GroupResource {
  readonly count: number;
}

export class WatchRegistry {
  readonly #open = new Set<WatchResponse>();
  readonly #overflows = new Map<string, Overflows>();
  #isClosing = false;

  /** Watches ended because their client read too slowly, by resource. Only grow. */
  get overflows(): Iterable<Overflows> {
    return this.#overflows.values();
  }

  countOverflow({ group, resource }: GroupResource): void {
    const key = formatGroupResource({ group, resource });
    const count = (this.#overflows.get(key)?.count ?? 0) + 1;
    this.#overflows.set(key, { group, resource, count });
  }

  get size(): number {
    return this.#open.size;
  }

  add(watch: WatchResponse): void {
    this.#open.add(watch);
    if (this.#isClosing) watch.finish();
  }

  remove(watch: WatchResponse): void {
    this.#open.delete(watch);
  }

  /** Ends all after what waits for their clients, and those that come later too: their requests were under way. */
  finishAll(): void {
    this.#isClosing = true;
    for (const watch of this.#open) watch.finish();
  }
}
