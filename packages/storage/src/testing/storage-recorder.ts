// StorageRecorder is a StorageWatchSink that keeps the received events and lets a test wait for them. Used by the
// storage suites.
import type { KubernetesObject } from '@kapstan/api';
import { expect } from 'vitest';
import type { Storage, StorageEvent, StorageWatch, StorageWatchOptions, StorageWatchSink } from '../storage.ts';

/**
 * Records a watch and notes each breach of the sink's rules: nesting (I4), falling revisions (I1), calls after the end.
 */
export class StorageRecorder<T extends KubernetesObject> implements StorageWatchSink<T> {
  readonly events: StorageEvent<T>[] = [];
  readonly violations: string[] = [];
  error: Error | undefined;
  isEnded = false;
  /** Runs inside onEvent, after the event was kept. */
  onEach: ((event: StorageEvent<T>) => void) | undefined;
  readonly #waiters = new Set<{ readonly isMet: () => boolean; readonly resolve: () => void }>();
  #isInside = false;
  #isClosed = false;
  #isPastInitial = false;
  #lastRevision = 0;
  #watch: StorageWatch | undefined;

  static start<T extends KubernetesObject>(
    storage: Storage<T>,
    key: string,
    options: StorageWatchOptions<T>,
  ): StorageRecorder<T> {
    const recorder = new StorageRecorder<T>();
    // The initial state is sent in the order of keys, not of revisions.
    const after = options.resourceVersion ?? '';
    const startsWithState = options.sendInitialEvents ?? (after === '' || after === '0');
    recorder.#isPastInitial = !startsWithState;
    const watch = storage.watch(key, options, recorder);
    if (recorder.events.length > 0 || recorder.isEnded) recorder.violations.push('delivered inside watch()');
    recorder.#begin(watch);
    return recorder;
  }

  #begin(watch: StorageWatch): void {
    this.#watch = watch;
  }

  onEvent(event: StorageEvent<T>): void {
    this.#enter('onEvent', () => {
      this.#checkOrder(event);
      this.events.push(event);
      this.onEach?.(event);
    });
  }

  onEnd(error?: Error): void {
    this.#enter('onEnd', () => {
      this.isEnded = true;
      this.error = error;
    });
  }

  close(): void {
    this.#isClosed = true;
    this.#watch?.close();
  }

  /** Returns the changes, such as "ADDED a@5", without periodic bookmarks. */
  get changes(): string[] {
    return this.events.flatMap((event) => {
      if (event.type !== 'BOOKMARK')
        return [`${event.type} ${event.stored.object.metadata?.name}@${event.stored.revision}`];
      return event.initialEventsEnd ? [`END@${event.revision}`] : [];
    });
  }

  get bookmarks(): number[] {
    return this.events.flatMap((event) => (event.type === 'BOOKMARK' ? [event.revision] : []));
  }

  /** Resolves to the changes as soon as there are this many. */
  async received(count: number): Promise<string[]> {
    await this.until(() => this.changes.length >= count || this.isEnded);
    expect(this.changes.length, `changes before the end (${this.error?.message})`).toBeGreaterThanOrEqual(count);
    return this.changes;
  }

  async ended(): Promise<Error | undefined> {
    await this.until(() => this.isEnded);
    return this.error;
  }

  until(isMet: () => boolean): Promise<void> {
    if (isMet()) return Promise.resolve();
    return new Promise((resolve) => this.#waiters.add({ isMet, resolve }));
  }

  verify(): void {
    expect(this.violations).toEqual([]);
  }

  #checkOrder(event: StorageEvent<T>): void {
    const revision = event.type === 'BOOKMARK' ? event.revision : event.stored.revision;
    const isRising = event.type === 'BOOKMARK' ? revision >= this.#lastRevision : revision > this.#lastRevision;
    if (event.type !== 'ADDED') this.#isPastInitial = true;
    if (this.#isPastInitial && !isRising) this.violations.push(`${event.type}@${revision} after ${this.#lastRevision}`);
    this.#lastRevision = Math.max(this.#lastRevision, revision);
    if (event.type === 'BOOKMARK') return;
    const shown = event.stored.object.metadata?.resourceVersion;
    if (shown !== String(revision)) this.violations.push(`${event.type}@${revision} shows version ${shown}`);
  }

  #enter(call: string, body: () => void): void {
    if (this.#isInside) this.violations.push(`${call} nested in another call`);
    if (this.isEnded) this.violations.push(`${call} after the end`);
    if (this.#isClosed) this.violations.push(`${call} after close`);
    this.#isInside = true;
    try {
      body();
    } finally {
      this.#isInside = false;
    }
    for (const waiter of this.#waiters) {
      if (!waiter.isMet()) continue;
      this.#waiters.delete(waiter);
      waiter.resolve();
    }
  }
}
