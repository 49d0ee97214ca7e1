// Readiness knows whether the cache may answer, and how requests are refused while it may not. Source: apiserver
// storage/cacher/ready.go.

import type { Clock, StatusError } from '@kapstan/api';
import { tooManyRequests } from '@kapstan/api/errors';
import { messageOf } from '@kapstan/api/internal';
import { StorageError } from '@kapstan/storage';

type State = 'pending' | 'ready' | 'stopped';

interface Waiter {
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

/** The states are pending → ready → pending (relist) … → stopped, which is final. */
export class Readiness {
  readonly #clock: Clock;
  readonly #waiters = new Set<Waiter>();
  #state: State = 'pending';
  #generation = 0;
  #sinceMs: number;
  #lastError: unknown;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#sinceMs = clock.monotonicNow();
  }

  get isReady(): boolean {
    return this.#state === 'ready';
  }

  get state(): State {
    return this.#state;
  }

  /** Number of times that the cache became ready. */
  get generation(): number {
    return this.#generation;
  }

  get lastError(): unknown {
    return this.#lastError;
  }

  setReady(): void {
    if (this.#state !== 'pending') return;
    this.#change('ready');
    this.#generation++;
    this.#lastError = undefined;
    for (const waiter of this.#waiters) waiter.resolve();
    this.#waiters.clear();
  }

  setPending(): void {
    if (this.#state === 'ready') this.#change('pending');
  }

  /** Records the error that refused requests are shown. */
  noteError(error: unknown): void {
    if (error !== undefined) this.#lastError = error;
  }

  stop(): void {
    if (this.#state === 'stopped') return;
    this.#change('stopped');
    for (const waiter of this.#waiters) waiter.reject(stoppedError());
    this.#waiters.clear();
  }

  /** Resolves when the cache is ready, at once or later. Rejects when it is stopped or the signal aborts. */
  wait(signal?: AbortSignal): Promise<void> {
    if (this.#state === 'ready') return Promise.resolve();
    if (this.#state === 'stopped') return Promise.reject(stoppedError());
    return new Promise((resolve, reject) => {
      if (signal?.aborted === true) return reject(signal.reason);
      const onAbort = (): void => {
        this.#waiters.delete(waiter);
        reject(signal?.reason);
      };
      const waiter: Waiter = {
        resolve: () => {
          signal?.removeEventListener('abort', onAbort);
          resolve();
        },
        reject,
      };
      signal?.addEventListener('abort', onAbort, { once: true });
      this.#waiters.add(waiter);
    });
  }

  /** Returns the error for a request that cannot be answered now: 429, or `Closed` when the cache is stopped. */
  refusal(): StatusError | StorageError {
    if (this.#state === 'stopped') return stoppedError();
    const error = this.#lastError;
    const why = error === undefined ? '' : `: ${messageOf(error)}`;
    const unreadyMs = this.#clock.monotonicNow() - this.#sinceMs;
    return tooManyRequests(`storage is (re)initializing${why}`, retryAfterUnreadySeconds(unreadyMs));
  }

  #change(state: State): void {
    this.#state = state;
    this.#sinceMs = this.#clock.monotonicNow();
  }
}

/** Returns 1 to 30 seconds, growing with the time that the cache has been unready. Source: cacher/util.go. */
export function retryAfterUnreadySeconds(unreadyMs: number): number {
  return Math.min(30, Math.max(1, Math.floor(Math.exp(0.06 * (unreadyMs / 1000)))));
}

export function stoppedError(): StorageError {
  return new StorageError({ code: 'Closed', message: 'apiserver cacher is stopped' });
}
