// WatchRecorder is an EngineWatchSink that keeps the received events and lets a test wait for them. Used by the engine
// suites.
import type { Revision } from '@kapstan/api';
import { expect } from 'vitest';
import type { Engine, EngineEvent, EngineWatch, EngineWatchOptions, EngineWatchSink, KeyRange } from '../engine.ts';

interface Waiter {
  readonly isMet: () => boolean;
  readonly resolve: () => void;
}

/** Records a watch. Notes nested calls, calls after the end and revisions that do not rise. */
export class WatchRecorder implements EngineWatchSink {
  readonly events: EngineEvent[] = [];
  readonly progress: Revision[] = [];
  error: Error | undefined;
  /** Runs inside onEvents, after the events were kept. */
  onEach: ((event: EngineEvent) => void) | undefined;
  /**
   * Violations of the rules. {@link verify} asserts that there are none, because an engine may swallow errors of a
   * sink.
   */
  readonly violations: string[] = [];
  readonly #waiters: Waiter[] = [];
  #depth = 0;
  #lastRevision = 0;
  #isClosed = false;
  #watch: EngineWatch | undefined;

  static start(engine: Engine, range: KeyRange, options: EngineWatchOptions): WatchRecorder {
    const recorder = new WatchRecorder();
    recorder.#begin(engine.watch(range, options, recorder));
    return recorder;
  }

  #begin(watch: EngineWatch): void {
    this.#watch = watch;
    if (this.events.length > 0 || this.error) this.violations.push('delivered inside watch()');
  }

  close(): void {
    this.#isClosed = true;
    this.#watch?.close();
  }

  onEvents(events: readonly EngineEvent[], revision: Revision): void {
    this.#enter('onEvents', () => {
      if (revision <= this.#lastRevision) this.violations.push(`revision ${revision} after ${this.#lastRevision}`);
      if (events.length === 0) this.violations.push(`no events at revision ${revision}`);
      this.#lastRevision = revision;
      for (const event of events) {
        if (event.revision !== revision) this.violations.push(`event of ${event.revision} delivered as ${revision}`);
        this.events.push(event);
        this.onEach?.(event);
      }
    });
  }

  onProgress(revision: Revision): void {
    this.#enter('onProgress', () => {
      if (revision < this.#lastRevision) this.violations.push(`progress ${revision} after ${this.#lastRevision}`);
      this.#lastRevision = revision;
      this.progress.push(revision);
    });
  }

  onError(error: Error): void {
    this.#enter('onError', () => {
      this.error = error;
    });
  }

  /** Resolves when this many events have come. */
  received(count: number): Promise<void> {
    return this.until(() => this.events.length >= count);
  }

  ended(): Promise<void> {
    return this.until(() => this.error !== undefined);
  }

  until(isMet: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      this.#waiters.push({ isMet, resolve });
      this.#wake();
    });
  }

  get revisions(): number[] {
    return this.events.map((event) => event.revision);
  }

  /** Asserts that the sink's rules were kept. */
  verify(): void {
    expect(this.violations).toEqual([]);
  }

  #enter(call: string, body: () => void): void {
    if (this.#depth > 0) this.violations.push(`${call} nested in another call`);
    if (this.error !== undefined) this.violations.push(`${call} after onError`);
    if (this.#isClosed) this.violations.push(`${call} after close`);
    this.#depth += 1;
    try {
      body();
    } finally {
      this.#depth -= 1;
    }
    this.#wake();
  }

  #wake(): void {
    const met = this.#waiters.filter((waiter) => waiter.isMet());
    for (const waiter of met) {
      this.#waiters.splice(this.#waiters.indexOf(waiter), 1);
      waiter.resolve();
    }
  }
}
