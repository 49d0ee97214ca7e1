// A storage engine on a Map: a log of changes, and the present state. Tested by test/e2e/own-engine.test.ts.
import { type CancelTimer, type Clock, type Revision, systemClock } from '@kapstan/api';
import type * as port from '@kapstan/storage';
import { compareKeys, isInRange, StorageError } from '@kapstan/storage';

interface Watcher {
  readonly range: port.KeyRange;
  readonly after: Revision;
  readonly sink: port.EngineWatchSink;
  next: number; // next place in the log
}

export class MapEngine implements port.Engine {
  readonly supportsProgressRequests = true;
  readonly #clock: Clock;
  readonly #state = new Map<string, port.KeyValue>();
  readonly #log: port.EngineEvent[] = [];
  readonly #watchers = new Set<Watcher>();
  readonly #timers = new Set<CancelTimer>();
  #revision = 1 as Revision;
  #compacted = 0 as Revision;
  #isDelivering = false;
  #isClosed = false;

  constructor(clock: Clock = systemClock) {
    this.#clock = clock;
  }

  async get(key: string, { revision, signal }: port.RangeOptions = {}): Promise<port.EngineRead> {
    const kv = this.#stateAt(revision, signal).get(key);
    return { revision: this.#revision, ...(kv && { kv }) };
  }

  async range(range: port.KeyRange, { revision, limit, signal }: port.RangeOptions = {}): Promise<port.RangeResult> {
    const found = [...this.#stateAt(revision, signal).values()].filter(({ key }) => isInRange(range, key));
    const sorted = found.sort((a, b) => compareKeys(a.key, b.key));
    const kvs = limit ? sorted.slice(0, limit) : sorted;
    return { revision: this.#revision, kvs, more: kvs.length < found.length, count: found.length };
  }

  readonly currentRevision = async (): Promise<Revision> => this.#revision;
  readonly compactRevision = (): Revision => this.#compacted;
  readonly checkHealth = async (): Promise<void> => void this.#stateAt(undefined);
  readonly checkReadiness = (): Promise<void> => this.checkHealth();
  readonly storedBytes = async (): Promise<number> =>
    [...this.#stateAt(undefined).values()].reduce((n, kv) => n + kv.value.length, 0);
  readonly count = async (range: port.KeyRange): Promise<number> => (await this.range(range)).count;

  async commit({ key, expectedRevision, change, signal }: port.Commit): Promise<port.CommitResult> {
    const present = this.#stateAt(undefined, signal).get(key);
    if (change.type === 'put' && change.value.length > 1_572_864) throw new StorageError({ code: 'TooLarge', key });
    if ((present?.modRevision ?? 0) !== expectedRevision)
      return { succeeded: false, revision: this.#revision, ...(present && { current: present }) };
    return { succeeded: true, revision: this.#apply(key, change), ...(present && { previous: present }) };
  }

  watch(range: port.KeyRange, { after }: port.EngineWatchOptions, sink: port.EngineWatchSink): port.EngineWatch {
    const later = this.#log.findIndex((event) => event.revision > after);
    const watcher: Watcher = { range, after, sink, next: later < 0 ? this.#log.length : later };
    this.#watchers.add(watcher);
    // Events never come within this call, because the caller must have the watch first.
    queueMicrotask(() => (after < this.#compacted ? this.#end(watcher, this.#gone()) : this.#deliver()));
    return { close: () => void this.#watchers.delete(watcher) };
  }

  async requestProgress(): Promise<void> {
    queueMicrotask(() => {
      this.#deliver();
      for (const { sink } of this.#watchers) sink.onProgress(this.#revision);
    });
  }

  async grantLease(ttlSeconds: number): Promise<number> {
    const lease = this.#timers.size + 1;
    const expire = (): void => {
      for (const kv of [...this.#state.values()]) if (kv.lease === lease) this.#apply(kv.key, { type: 'delete' });
    };
    this.#timers.add(this.#clock.setBackgroundTimer(expire, ttlSeconds * 1000));
    return lease;
  }

  async compact(revision: Revision): Promise<void> {
    if (revision <= this.#compacted || !this.#stateAt(revision)) throw this.#gone();
    this.#compacted = revision;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const cancel of this.#timers) cancel();
    for (const watcher of this.#watchers) this.#end(watcher, new StorageError({ code: 'Closed' }));
  }

  // Atomic: one revision changes the state and the log together; watchers are notified afterwards.
  #apply(key: string, change: port.Commit['change']): Revision {
    const revision = (this.#revision + 1) as Revision;
    const previous = this.#state.get(key);
    this.#revision = revision;
    const { createRevision = revision } = previous ?? {};
    const life = { key, createRevision, modRevision: revision };
    const kv = change.type === 'put' && { ...life, value: change.value.slice(), lease: change.lease ?? 0 };
    if (kv) this.#state.set(key, kv);
    else this.#state.delete(key);
    this.#log.push({ type: change.type, key, revision, ...(kv && { kv }), ...(previous && { previous }) });
    queueMicrotask(() => this.#deliver());
    return revision;
  }

  /** Replays the log, which keeps the code short; an engine for large stores would index the revisions. */
  #stateAt(revision: Revision | undefined, signal?: port.RangeOptions['signal']): ReadonlyMap<string, port.KeyValue> {
    signal?.throwIfAborted();
    if (this.#isClosed) throw new StorageError({ code: 'Closed' });
    if (!revision || revision === this.#revision) return this.#state;
    if (revision > this.#revision) throw new StorageError({ code: 'FutureRevision', revision: this.#revision });
    if (revision < this.#compacted) throw this.#gone();
    const state = new Map<string, port.KeyValue>();
    for (const { key, kv, revision: at } of this.#log) {
      if (at > revision) break;
      if (kv) state.set(key, kv);
      else state.delete(key);
    }
    return state;
  }

  // Deliveries never nest: the running loop also delivers an event that a sink causes.
  #deliver(): void {
    if (this.#isDelivering) return;
    this.#isDelivering = true;
    for (const watcher of this.#watchers) {
      while (this.#watchers.has(watcher) && watcher.next < this.#log.length)
        this.#offer(watcher, this.#log[watcher.next++]);
    }
    this.#isDelivering = false;
  }

  /** A sink that throws loses only its own watch. */
  #offer(watcher: Watcher, event: port.EngineEvent | undefined): void {
    if (event === undefined || event.revision <= watcher.after || !isInRange(watcher.range, event.key)) return;
    try {
      watcher.sink.onEvents([event], event.revision);
    } catch (error) {
      this.#end(watcher, error as Error);
    }
  }

  #end(watcher: Watcher, error: Error): void {
    if (this.#watchers.delete(watcher)) watcher.sink.onError(error);
  }

  readonly #gone = (): StorageError => new StorageError({ code: 'Compacted', revision: this.#compacted });
}
