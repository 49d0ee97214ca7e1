// Freshness lets readers wait until the cache has reached a revision. Source: apiserver storage/cacher/watch_cache.go
// (waitUntilFreshAndBlock) and progress.
import type { CancelTimer, Clock, Revision } from '@kapstan/api';
import { tooLargeResourceVersion } from '@kapstan/api/errors';
import { DurationHistogram } from '@kapstan/api/internal';
import { readWaitBounds } from './histogram-bounds.ts';

const maxWaitMs = 3_000;
const progressPeriodMs = 100;
const retrySeconds = 1;

interface Waiter {
  readonly revision: Revision;
  readonly asked: string;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
  readonly cancelTimer: CancelTimer;
  readonly sinceMs: number;
}

export interface FreshnessOptions {
  readonly clock: Clock;
  /** Returns the revision that the cache has reached. */
  readonly current: () => Revision;
  /**
   * Asks the storage below to report its progress. Called at once, then every 100 ms while a reader waits. Must not
   * throw.
   */
  readonly requestProgress: () => void;
}

/** Waiting readers are bounded by the requests in flight, and each leaves after 3 s (I5). */
export class Freshness {
  /** Waiting times of readers that had to wait. */
  readonly waits: DurationHistogram = new DurationHistogram(readWaitBounds);
  readonly #options: FreshnessOptions;
  readonly #waiters = new Set<Waiter>();
  #cancelProgress: CancelTimer | undefined;
  #closedWith: Error | undefined;

  constructor(options: FreshnessOptions) {
    this.#options = options;
  }

  get waiting(): number {
    return this.#waiters.size;
  }

  /**
   * Resolves when the cache has the revision (0: at once); rejects with 504 after 3 s. Ignores the request's signal.
   * `asked` is the version as the client sent it, which may be too long for a number.
   */
  wait(revision: Revision, asked: string = String(revision)): Promise<void> {
    if (this.#options.current() >= revision) return Promise.resolve();
    // The cache was closed while the reader asked the storage for its revision, so it will not advance any more.
    if (this.#closedWith !== undefined) return Promise.reject(this.#closedWith);
    return new Promise((resolve, reject) => {
      const cancelTimer = this.#options.clock.setTimer(() => this.#onTimeout(waiter), maxWaitMs);
      const sinceMs = this.#options.clock.monotonicNow();
      const waiter: Waiter = { revision, asked, resolve, reject, cancelTimer, sinceMs };
      this.#waiters.add(waiter);
      if (this.#cancelProgress === undefined) this.#askForProgress();
    });
  }

  /** Resolves the readers whose revision is reached. Must be called whenever the cache has advanced. */
  advanced(): void {
    if (this.#waiters.size === 0) return;
    const current = this.#options.current();
    for (const waiter of this.#waiters) {
      if (waiter.revision <= current) {
        this.#leave(waiter);
        waiter.resolve();
      }
    }
  }

  /** Fails all waiting readers, and all later ones. */
  close(error: Error): void {
    this.#closedWith ??= error;
    for (const waiter of this.#waiters) {
      this.#leave(waiter);
      waiter.reject(error);
    }
  }

  #onTimeout(waiter: Waiter): void {
    this.#leave(waiter);
    waiter.reject(tooLargeResourceVersion(BigInt(waiter.asked).toString(), this.#options.current(), retrySeconds));
  }

  #leave(waiter: Waiter): void {
    this.#waiters.delete(waiter);
    waiter.cancelTimer();
    this.waits.observe(this.#options.clock.monotonicNow() - waiter.sinceMs);
    if (this.#waiters.size > 0) return;
    this.#cancelProgress?.();
    this.#cancelProgress = undefined;
  }

  #askForProgress(): void {
    this.#cancelProgress = this.#options.clock.setTimer(() => this.#askForProgress(), progressPeriodMs);
    this.#options.requestProgress();
  }
}
