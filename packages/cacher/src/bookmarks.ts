// Bookmarks tells watchers from time to time which revision they have reached, with one timer for all. Source:
// apiserver storage/cacher/cacher.go (watcherBookmarkTimeBuckets).
import type { CancelTimer, Clock, KubernetesObject, Revision } from '@kapstan/api';
import type { CacheWatcher } from './cache-watcher.ts';

const periodMs = 60_000;
const beforeDeadlineMs = 2_000;
/**
 * Bookmarks that are due within this time of each other go out together. A watcher that is not live yet is tried again
 * after it.
 */
const bucketMs = 1_000;

export interface BookmarksOptions {
  readonly clock: Clock;
  /** Returns the revision up to which everything has been dispatched. */
  readonly revision: () => Revision;
}

interface Schedule {
  readonly deadlineMs: number | undefined;
  dueMs: number;
}

export class Bookmarks<T extends KubernetesObject> {
  readonly #options: BookmarksOptions;
  readonly #schedules = new Map<CacheWatcher<T>, Schedule>();
  #timer: { readonly dueMs: number; readonly cancel: CancelTimer } | undefined;

  constructor(options: BookmarksOptions) {
    this.#options = options;
  }

  get scheduled(): number {
    return this.#schedules.size;
  }

  /**
   * Schedules a watcher. `deadlineMs` is the end of its request on the monotonic clock; a last bookmark is sent 2 s
   * before.
   */
  add(watcher: CacheWatcher<T>, deadlineMs: number | undefined): void {
    const dueMs = nextBookmarkMs(this.#options.clock.monotonicNow(), deadlineMs);
    if (dueMs === undefined) return;
    this.#schedules.set(watcher, { deadlineMs, dueMs });
    this.#arm(dueMs);
  }

  remove(watcher: CacheWatcher<T>): void {
    this.#schedules.delete(watcher);
    if (this.#schedules.size > 0) return;
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #arm(dueMs: number): void {
    if (this.#timer !== undefined && this.#timer.dueMs <= dueMs) return;
    this.#timer?.cancel();
    const now = this.#options.clock.monotonicNow();
    const delayMs = Math.max(bucketMs, dueMs - now);
    const cancel = this.#options.clock.setBackgroundTimer(() => this.#onTimer(), delayMs);
    this.#timer = { dueMs: now + delayMs, cancel };
  }

  #onTimer(): void {
    this.#timer = undefined;
    const now = this.#options.clock.monotonicNow();
    const revision = this.#options.revision();
    for (const [watcher, schedule] of this.#schedules) {
      if (schedule.dueMs <= now) this.#send(watcher, schedule, { now, revision });
    }
    let nextMs = Number.POSITIVE_INFINITY;
    for (const { dueMs } of this.#schedules.values()) nextMs = Math.min(nextMs, dueMs);
    if (this.#schedules.size > 0) this.#arm(nextMs);
  }

  #send(
    watcher: CacheWatcher<T>,
    schedule: Schedule,
    moment: { readonly now: number; readonly revision: Revision },
  ): void {
    if (!watcher.isLive || moment.revision === 0) {
      schedule.dueMs = moment.now + bucketMs;
      return;
    }
    const isLast = schedule.deadlineMs !== undefined && schedule.dueMs >= schedule.deadlineMs - beforeDeadlineMs;
    const dueMs = nextBookmarkMs(moment.now, schedule.deadlineMs);
    if (dueMs === undefined) this.#schedules.delete(watcher);
    else schedule.dueMs = dueMs;
    // Bookmarks each minute show that the watch lives; the last one matters for its version alone.
    if (isLast && watcher.knowsRevision(moment.revision)) return;
    watcher.bookmark(moment.revision);
  }
}

/**
 * Returns the time of the next bookmark: once a minute and just before the deadline; undefined when that is past.
 * Source: cache_watcher.go nextBookmarkTime.
 */
export function nextBookmarkMs(nowMs: number, deadlineMs: number | undefined): number | undefined {
  const heartbeatMs = nowMs + periodMs;
  if (deadlineMs === undefined) return heartbeatMs;
  const lastMs = deadlineMs - beforeDeadlineMs;
  if (lastMs > nowMs && lastMs < heartbeatMs) return lastMs;
  return heartbeatMs > deadlineMs ? undefined : heartbeatMs;
}
