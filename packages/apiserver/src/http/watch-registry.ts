// WatchRegistry: the watches that are open now, so that a server that stops can end them, and their counts.
import type { WatchResponse } from './watch-response.ts';

export class WatchRegistry {
  readonly #open = new Set<WatchResponse>();
  /** Watches ended because their client read too slowly. Only grows. */
  overflows = 0;

  get size(): number {
    return this.#open.size;
  }

  add(watch: WatchResponse): void {
    this.#open.add(watch);
  }

  remove(watch: WatchResponse): void {
    this.#open.delete(watch);
  }

  /** Ends all after what waits for their clients. */
  finishAll(): void {
    for (const watch of this.#open) watch.finish();
  }
}
