// Dispatcher: brings each event to the watchers that it concerns, and lets new watchers catch up a slice at a time.
// Between watch-cache.ts and cache-watcher.ts. spec/storage.md §3.11.
import type { KubernetesObject } from '@kapstan/api';
import type { CacheEvent } from './cache-entry.ts';
import type { CacheWatcher } from './cache-watcher.ts';
import type { HistoryRing } from './history-ring.ts';
import { WatcherIndex } from './watcher-index.ts';

// With some microseconds an event, a turn of the event loop stays in the low milliseconds however many watchers catch up.
const eventsPerTurn = 512;
const eventsPerSlice = 100;

export interface DispatchCounters {
  /** Events brought to the live watchers. */
  dispatched: number;
  /** Watches ended by the cache: relists, and readers that the ring moved past. */
  terminatedWatchers: number;
}

/**
 * Delivery is synchronous and never nested (I4): an event that arrives during a delivery waits in a queue that the
 * running loop empties. There is no other buffer: a sink that is slow closes its watch.
 */
export class Dispatcher<T extends KubernetesObject> {
  readonly counters: DispatchCounters = { dispatched: 0, terminatedWatchers: 0 };
  readonly #ring: HistoryRing<T>;
  readonly #index: WatcherIndex<T>;
  readonly #watchers = new Set<CacheWatcher<T>>();
  readonly #catchingUp = new Set<CacheWatcher<T>>();
  readonly #queue: CacheEvent<T>[] = [];
  #isDelivering = false;
  #isPumpScheduled = false;

  constructor(ring: HistoryRing<T>, indexedFields: readonly string[]) {
    this.#ring = ring;
    this.#index = new WatcherIndex<T>(indexedFields);
  }

  get watcherCount(): number {
    return this.#watchers.size;
  }

  get catchingUpCount(): number {
    return this.#catchingUp.size;
  }

  /** Counts a watcher that has not begun, so that it ends with the others. */
  register(watcher: CacheWatcher<T>): void {
    this.#watchers.add(watcher);
  }

  /** Lets a registered watcher that has begun catch up, from the next turn on. */
  start(watcher: CacheWatcher<T>): void {
    this.#catchingUp.add(watcher);
    this.#schedulePump();
  }

  remove(watcher: CacheWatcher<T>): void {
    this.#watchers.delete(watcher);
    this.#catchingUp.delete(watcher);
    this.#index.remove(watcher);
  }

  dispatch(event: CacheEvent<T>): void {
    this.#queue.push(event);
    if (this.#isDelivering) return;
    this.#isDelivering = true;
    try {
      for (let next = this.#queue.shift(); next !== undefined; next = this.#queue.shift()) {
        this.#index.offer(next);
        this.counters.dispatched++;
      }
    } finally {
      this.#isDelivering = false;
    }
  }

  /** Ends all watches: what they saw may have gaps from now on. */
  terminateAll(): void {
    for (const watcher of this.#watchers) {
      this.counters.terminatedWatchers++;
      watcher.end();
    }
  }

  #schedulePump(): void {
    if (this.#isPumpScheduled) return;
    this.#isPumpScheduled = true;
    setImmediate(() => {
      this.#isPumpScheduled = false;
      this.#pump();
      if (this.#catchingUp.size > 0) this.#schedulePump();
    });
  }

  #pump(): void {
    let budget = eventsPerTurn;
    for (const watcher of this.#catchingUp) {
      // Re-added below, so the loop comes back to it after the others while the budget lasts.
      this.#catchingUp.delete(watcher);
      if (watcher.isOverrun(this.#ring)) {
        this.counters.terminatedWatchers++;
        watcher.end();
        continue;
      }
      const looked = watcher.catchUp(this.#ring, Math.min(budget, eventsPerSlice));
      budget -= Math.max(1, looked);
      if (watcher.isLive) this.#index.add(watcher);
      else if (!watcher.isClosed) this.#catchingUp.add(watcher);
      if (budget <= 0) return;
    }
  }
}
