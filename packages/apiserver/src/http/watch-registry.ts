// WatchRegistry: the watches that are open now, so that a server that stops can end them, and their counts.
import { type Clock, delay, formatGroupResource, type GroupResource } from '@kapstan/api';
import type { WatchResponse } from './watch-response.ts';

interface Overflows extends GroupResource {
  readonly count: number;
}

/** Source: server/genericapiserver.go, which ends no fewer watches a second however long it may take. */
const minEndsPerSecond = 200;
const stepMs = 5;

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

  /**
   * Ends all after what waits for their clients, and those that come later too: their requests were under way. With a grace
   * one after the other, so that clients do not come back all at once. Resolves when all are told to end.
   */
  async endAll({ graceMs, clock }: { readonly graceMs: number; readonly clock: Clock }): Promise<void> {
    this.#isClosing = true;
    const waiting = [...this.#open];
    const perSecond = graceMs === 0 ? Number.POSITIVE_INFINITY : (waiting.length * 1000) / graceMs;
    const perStep = Math.ceil((Math.max(minEndsPerSecond, perSecond) * stepMs) / 1000);
    for (;;) {
      for (const watch of waiting.splice(0, perStep)) watch.finish();
      if (waiting.length === 0) return;
      await delay(clock, stepMs);
    }
  }
}
