// MemoryEngine is the smallest correct Engine. Tests build on it and compare other engines with it;
// testCluster() uses it where LMDB has no binary. Nothing is durable.
import { type CancelTimer, type Clock, type Revision, systemClock } from '@kapstan/api';
import type {
  Commit,
  CommitResult,
  Engine,
  EngineEvent,
  EngineRead,
  EngineWatch,
  EngineWatchOptions,
  EngineWatchSink,
  KeyRange,
  KeyValue,
  RangeOptions,
  RangeResult,
} from './engine.ts';
import { StorageError } from './errors/storage-error.ts';
import { compareKeys, isInRange } from './key-range.ts';

interface Watcher {
  readonly range: KeyRange;
  readonly sink: EngineWatchSink;
  readonly after: Revision;
  /** Index of the next event to deliver. */
  next: number;
}

const maxValueBytes = 1_572_864;
const asRevision = (value: number): Revision => value as Revision;

/**
 * Keeps every event since the last compaction and replays the events for reads of the past. It is not meant for large
 * stores.
 */
export class MemoryEngine implements Engine {
  readonly supportsProgressRequests: boolean;
  /** Called before each operation. A test makes it throw or wait to inject a fault. */
  beforeOperation: (operation: 'get' | 'range' | 'commit', key: string) => void | Promise<void> = () => undefined;
  readonly #clock: Clock;
  readonly #current = new Map<string, KeyValue>();
  /** State at the compacted revision, from which older reads are replayed. */
  #base = new Map<string, KeyValue>();
  #events: EngineEvent[] = [];
  #dropped = 0;
  #revision = 1;
  #compacted = 0;
  #lastLease = 0;
  #isDelivering = false;
  #isClosed = false;
  readonly #watchers = new Set<Watcher>();
  readonly #timers = new Set<CancelTimer>();

  constructor(options: { readonly clock?: Clock; readonly supportsProgressRequests?: boolean } = {}) {
    this.#clock = options.clock ?? systemClock;
    this.supportsProgressRequests = options.supportsProgressRequests ?? true;
  }

  async get(key: string, options: RangeOptions = {}): Promise<EngineRead> {
    await this.#enter('get', key, options);
    const kv = this.#stateAt(options.revision ?? 0).get(key);
    const revision = asRevision(this.#revision);
    return kv === undefined ? { revision } : { revision, kv };
  }

  async range(range: KeyRange, options: RangeOptions = {}): Promise<RangeResult> {
    await this.#enter('range', range.start, options);
    const found = this.#entries(this.#stateAt(options.revision ?? 0), range);
    const kvs = options.limit ? found.slice(0, options.limit) : found;
    return { revision: asRevision(this.#revision), kvs, more: kvs.length < found.length, count: found.length };
  }

  async count(range: KeyRange): Promise<number> {
    return this.#entries(this.#current, range).length;
  }

  async commit(commit: Commit): Promise<CommitResult> {
    await this.#enter('commit', commit.key, commit);
    const { key, expectedRevision, change } = commit;
    if (change.type === 'put' && change.value.length > maxValueBytes) throw new StorageError({ code: 'TooLarge', key });
    const present = this.#current.get(key);
    const revision = asRevision(this.#revision);
    if ((present?.modRevision ?? 0) !== expectedRevision) {
      return { succeeded: false, revision, current: present };
    }
    const written =
      change.type === 'put'
        ? this.#apply(key, { value: change.value.slice(), lease: change.lease ?? 0 })
        : this.#apply(key);
    return { succeeded: true, revision: written, previous: present };
  }

  watch(range: KeyRange, options: EngineWatchOptions, sink: EngineWatchSink): EngineWatch {
    const first = this.#events.findIndex((event) => event.revision > options.after);
    const next = this.#dropped + (first === -1 ? this.#events.length : first);
    const watcher: Watcher = { range, sink, after: options.after, next };
    this.#watchers.add(watcher);
    queueMicrotask(() => {
      if (options.after < this.#compacted) this.#fail(watcher, this.#compactedError());
      else this.#deliver();
    });
    return { close: () => void this.#watchers.delete(watcher) };
  }

  async currentRevision(): Promise<Revision> {
    return asRevision(this.#revision);
  }

  async requestProgress(): Promise<void> {
    queueMicrotask(() => {
      this.#deliver();
      for (const watcher of this.#watchers) watcher.sink.onProgress(asRevision(this.#revision));
    });
  }

  async grantLease(ttlSeconds: number): Promise<number> {
    const lease = ++this.#lastLease;
    const cancel = this.#clock.setBackgroundTimer(() => {
      this.#timers.delete(cancel);
      for (const kv of [...this.#current.values()]) if (kv.lease === lease) this.#apply(kv.key);
    }, ttlSeconds * 1000);
    this.#timers.add(cancel);
    return lease;
  }

  async compact(revision: Revision): Promise<void> {
    if (revision <= this.#compacted) throw this.#compactedError();
    this.#base = this.#stateAt(revision);
    const kept = this.#events.filter((event) => event.revision > revision);
    this.#dropped += this.#events.length - kept.length;
    this.#events = kept;
    this.#compacted = revision;
  }

  compactRevision(): Revision {
    return asRevision(this.#compacted);
  }

  async checkHealth(): Promise<void> {
    if (this.#isClosed) throw new StorageError({ code: 'Closed' });
  }

  checkReadiness(): Promise<void> {
    return this.checkHealth();
  }

  /** Returns the size of the values only, because there is no disk. */
  async storedBytes(): Promise<number> {
    await this.checkHealth();
    return [...this.#current.values()].reduce((sum, kv) => sum + kv.value.length, 0);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const cancel of this.#timers) cancel();
    for (const watcher of this.#watchers) this.#fail(watcher, new StorageError({ code: 'Closed' }));
  }

  /** Ends all watches with an error, as a lost connection does. */
  breakWatches(error: Error): void {
    for (const watcher of this.#watchers) this.#fail(watcher, error);
  }

  // Atomic: one revision changes the map and the log together; watchers are notified afterwards.
  #apply(key: string, put?: { readonly value: Uint8Array; readonly lease: number }): Revision {
    const revision = asRevision(++this.#revision);
    const before = this.#current.get(key);
    if (put === undefined) {
      this.#current.delete(key);
      this.#events.push({ type: 'delete', key, revision, previous: before });
    } else {
      const kv = { key, ...put, createRevision: before?.createRevision ?? revision, modRevision: revision };
      this.#current.set(key, kv);
      this.#events.push({ type: 'put', key, revision, kv, previous: before });
    }
    queueMicrotask(() => this.#deliver());
    return revision;
  }

  // Deliveries are never nested: an event that a sink writes is delivered by the running loop.
  #deliver(): void {
    if (this.#isDelivering) return;
    this.#isDelivering = true;
    try {
      for (const watcher of this.#watchers) this.#deliverTo(watcher);
    } finally {
      this.#isDelivering = false;
    }
  }

  #deliverTo(watcher: Watcher): void {
    while (this.#watchers.has(watcher)) {
      const event = this.#events[watcher.next - this.#dropped];
      if (event === undefined) {
        if (watcher.next < this.#dropped) this.#fail(watcher, this.#compactedError());
        return;
      }
      watcher.next++;
      if (event.revision > watcher.after && isInRange(watcher.range, event.key)) this.#call(watcher, event);
    }
  }

  /** Calls a sink. One that throws loses its watch; its neighbours do not notice. */
  #call(watcher: Watcher, event: EngineEvent): void {
    try {
      watcher.sink.onEvents([event], event.revision);
    } catch (error) {
      this.#fail(watcher, error instanceof Error ? error : new Error(String(error)));
    }
  }

  #fail(watcher: Watcher, error: Error): void {
    if (this.#watchers.delete(watcher)) watcher.sink.onError(error);
  }

  async #enter(operation: 'get' | 'range' | 'commit', key: string, options: RangeOptions): Promise<void> {
    await this.beforeOperation(operation, key);
    options.signal?.throwIfAborted();
    if (this.#isClosed) throw new StorageError({ code: 'Closed' });
  }

  #stateAt(revision: number): Map<string, KeyValue> {
    if (revision === 0 || revision === this.#revision) return new Map(this.#current);
    if (revision > this.#revision) throw new StorageError({ code: 'FutureRevision', revision: this.#revision });
    if (revision < this.#compacted) throw this.#compactedError();
    const state = new Map(this.#base);
    for (const event of this.#events) {
      if (event.revision > revision) break;
      if (event.kv === undefined) state.delete(event.key);
      else state.set(event.key, event.kv);
    }
    return state;
  }

  #entries(state: ReadonlyMap<string, KeyValue>, range: KeyRange): KeyValue[] {
    const found = [...state.values()].filter((kv) => isInRange(range, kv.key));
    return found.sort((a, b) => compareKeys(a.key, b.key));
  }

  #compactedError(): StorageError {
    return new StorageError({ code: 'Compacted', revision: this.#compacted });
  }
}
