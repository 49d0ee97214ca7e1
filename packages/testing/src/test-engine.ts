// TestEngine: the store of a test cluster. It passes everything on to a real engine, counts operations in progress, and can withhold
// changes from the watch caches, or make them lose their history.
import type { Revision } from '@kapstan/api';
import {
  type Commit,
  type CommitResult,
  type Engine,
  type EngineEvent,
  type EngineRead,
  type EngineWatch,
  type EngineWatchOptions,
  type EngineWatchSink,
  type KeyRange,
  type RangeOptions,
  type RangeResult,
  StorageError,
} from '@kapstan/storage';
import type { Activity } from './activity.ts';

// A key outside every resource's prefix.
const scratchKey = '/kapstan-testing/history';

export class TestEngine implements Engine {
  readonly #engine: Engine;
  readonly #activity: Activity;
  readonly #watches = new Set<HeldWatch>();
  #isHeld = false;

  constructor(engine: Engine, activity: Activity) {
    this.#engine = engine;
    this.#activity = activity;
  }

  get(key: string, options?: RangeOptions): Promise<EngineRead> {
    return this.#track(this.#engine.get(key, options));
  }

  isNewest(key: string, revision: Revision): boolean {
    return this.#engine.isNewest?.(key, revision) === true;
  }

  range(range: KeyRange, options?: RangeOptions): Promise<RangeResult> {
    return this.#track(this.#engine.range(range, options));
  }

  count(range: KeyRange): Promise<number> {
    return this.#track(this.#engine.count(range));
  }

  commit(commit: Commit): Promise<CommitResult> {
    return this.#track(this.#engine.commit(commit));
  }

  watch(range: KeyRange, options: EngineWatchOptions, sink: EngineWatchSink): EngineWatch {
    const watch = new HeldWatch({
      sink,
      onActivity: () => this.#activity.moved(),
      onEnd: () => this.#watches.delete(watch),
    });
    if (this.#isHeld) watch.hold();
    this.#watches.add(watch);
    watch.begin(this.#engine.watch(range, options, watch));
    return watch;
  }

  currentRevision(): Promise<Revision> {
    return this.#engine.currentRevision();
  }

  requestProgress(): Promise<void> {
    return this.#engine.requestProgress();
  }

  get supportsProgressRequests(): boolean {
    return this.#engine.supportsProgressRequests;
  }

  grantLease(ttlSeconds: number, options?: Pick<RangeOptions, 'span'>): Promise<number> {
    return this.#track(this.#engine.grantLease(ttlSeconds, options));
  }

  compact(revision: Revision): Promise<void> {
    return this.#track(this.#engine.compact(revision));
  }

  compactRevision(): Revision {
    return this.#engine.compactRevision();
  }

  checkHealth(): Promise<void> {
    return this.#engine.checkHealth();
  }

  checkReadiness(): Promise<void> {
    return this.#engine.checkReadiness();
  }

  storedBytes(): Promise<number> {
    return this.#engine.storedBytes();
  }

  close(): Promise<void> {
    return this.#engine.close();
  }

  /** Holds back changes from all watches from now on; writes and reads continue. */
  hold(): void {
    this.#isHeld = true;
    for (const watch of this.#watches) watch.hold();
  }

  /** Delivers the changes so far to the watches, which then continue. */
  release(): void {
    this.#isHeld = false;
    for (const watch of [...this.#watches]) watch.release();
  }

  /**
   * Compacts everything and breaks all watches: clients behind the current revision get 410, and every watch cache is filled again. The
   * revision advances, so that even a client that was up to date is behind.
   */
  async loseHistory(): Promise<void> {
    const { kv } = await this.get(scratchKey);
    const change = { type: 'put', value: new Uint8Array(1) } as const;
    const { revision } = await this.commit({
      key: scratchKey,
      expectedRevision: kv?.modRevision ?? (0 as Revision),
      change,
    });
    await this.compact(revision);
    for (const watch of [...this.#watches]) watch.break(new StorageError({ code: 'Compacted', revision }));
  }

  async #track<R>(operation: Promise<R>): Promise<R> {
    const end = this.#activity.beginOperation();
    try {
      return await operation;
    } finally {
      end();
    }
  }
}

interface HeldWatchOptions {
  readonly sink: EngineWatchSink;
  readonly onActivity: () => void;
  readonly onEnd: () => void;
}

type Notice =
  | { readonly type: 'events'; readonly events: readonly EngineEvent[]; readonly revision: Revision }
  | { readonly type: 'progress'; readonly revision: Revision }
  | { readonly type: 'error'; readonly error: Error };

/** Sits between a watch of the engine and its sink. Held notifications keep their order. */
class HeldWatch implements EngineWatch, EngineWatchSink {
  readonly #options: HeldWatchOptions;
  #watch: EngineWatch | undefined;
  #held: Notice[] | undefined;
  #isClosed = false;

  constructor(options: HeldWatchOptions) {
    this.#options = options;
  }

  begin(watch: EngineWatch): void {
    this.#watch = watch;
    if (this.#isClosed) watch.close();
  }

  onEvents(events: readonly EngineEvent[], revision: Revision): void {
    this.#receive({ type: 'events', events, revision });
  }

  onProgress(revision: Revision): void {
    this.#receive({ type: 'progress', revision });
  }

  onError(error: Error): void {
    this.#receive({ type: 'error', error });
  }

  hold(): void {
    this.#held ??= [];
  }

  release(): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const notice of held) this.#receive(notice);
  }

  /** Ends the watch with an error; held notices are lost. */
  break(error: Error): void {
    this.#watch?.close();
    this.#held = undefined;
    this.#receive({ type: 'error', error });
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#watch?.close();
    this.#options.onEnd();
  }

  #receive(notice: Notice): void {
    if (this.#isClosed) return;
    if (this.#held !== undefined) {
      this.#held.push(notice);
      return;
    }
    this.#options.onActivity();
    const { sink } = this.#options;
    if (notice.type === 'events') sink.onEvents(notice.events, notice.revision);
    else if (notice.type === 'progress') sink.onProgress(notice.revision);
    else this.#end(notice.error);
  }

  #end(error: Error): void {
    this.#isClosed = true;
    this.#options.onEnd();
    this.#options.sink.onError(error);
  }
}
