// ObjectStore keeps objects in any Engine, as etcd3/store.go does in etcd. Below it is an Engine, above it the cacher
// or the registry.
import {
  type Clock,
  type GroupResource,
  type KubernetesObject,
  type Logger,
  type Revision,
  silentLogger,
  systemClock,
} from '@kapstan/api';
import { formatGroupResource } from '@kapstan/api/internal';
import type { Codec } from './codec.ts';
import type { Engine, KeyValue } from './engine.ts';
import { StorageError } from './errors/storage-error.ts';
import { rangeOf, rangeOfOne } from './key-range.ts';
import { KeySpace } from './keys.ts';
import { LeaseManager } from './lease-manager.ts';
import { ObjectCoder } from './object-coder.ts';
import { DeleteLoop, deleteUnreadable } from './object-delete.ts';
import { listOne, listPrefix } from './object-list.ts';
import { UpdateLoop } from './object-update.ts';
import { ObjectWatch } from './object-watch.ts';
import { PutCommitter } from './put-committer.ts';
import type {
  GuaranteedUpdateOptions,
  Storage,
  StorageCallOptions,
  StorageCreateOptions,
  StorageDeleteOptions,
  StorageGetOptions,
  StorageListOptions,
  StorageStats,
  StorageWatch,
  StorageWatchOptions,
  StorageWatchSink,
  StoredList,
  TryUpdate,
  UnreadableDeleteOptions,
} from './storage.ts';
import { StoreCounters, type StoreInspection } from './store-counters.ts';
import type { Stored } from './stored.ts';
import type { SpanAttributes } from './tracing/call-span.ts';
import { type StoreTrace, StoreTracer, type TracedCall } from './tracing/store-trace.ts';
import { identityTransformer, type Transformer } from './transform/transformer.ts';
import { parseResourceVersion, plainStatusError, requireNotOlder, revisionOf } from './versioner.ts';
import { largeObjectBytes } from './work-turns.ts';
import { WriteTurns } from './write-turns.ts';

/** Options of an {@link ObjectStore}. */
export interface ObjectStoreOptions<T extends KubernetesObject> {
  /** The stores of all resources share it; closing a store does not close it. */
  readonly engine: Engine;
  readonly codec: Codec<T>;
  /** Prefix of all keys (`--etcd-prefix`). Default "/registry". */
  readonly keyPrefix?: string | undefined;
  /** Prefix of this resource's keys below `keyPrefix`: "/pods". */
  readonly resourcePrefix: string;
  /** Named in errors and traces. */
  readonly groupResource: GroupResource;
  /** Kind of the objects, named in traces. Default: none. */
  readonly kind?: string | undefined;
  /** Encryption at rest. Default: {@link identityTransformer}. */
  readonly transformer?: Transformer | undefined;
  /** Freezes all objects that are handed out, for tests of I6. Default false. */
  readonly freeze?: boolean | undefined;
  /** Clock for lease sharing, traces and metrics; must be the engine's. Default {@link systemClock}. */
  readonly clock?: Clock | undefined;
  /**
   * Logs, at level info, every call that takes more than 500 ms, with the time of its steps. Default: nothing is
   * logged.
   */
  readonly logger?: Logger | undefined;
  /**
   * `--lease-reuse-duration-seconds`: longest extra lifetime of a lease so that keys can share it. 0 = no sharing.
   * Default 60.
   */
  readonly leaseReuseSeconds?: number | undefined;
  /** Maximum number of keys that share a lease, at least 1. Default 1 000. */
  readonly leaseMaxObjects?: number | undefined;
  /** Source of random numbers in [0, 1), for retry times. Default Math.random. */
  readonly random?: (() => number) | undefined;
  /**
   * True = after a conflict, readers of that key's newest state are let through one by one, so that no writer loses
   * again and again (decision 0020). Default: true with the system's clock, false with others, which may stand still.
   */
  readonly queuesReaders?: boolean | undefined;
  /**
   * True = a list with unreadable objects is refused with a StorageReadError that names up to 100 of them. Default
   * false: the first one refuses the list with its own error, as while the feature gate
   * AllowUnsafeMalformedObjectDeletion is off.
   */
  readonly namesUnreadable?: boolean | undefined;
}

interface ReadingContext<T extends KubernetesObject> {
  readonly engine: Engine;
  readonly coder: ObjectCoder<T>;
  readonly resource: GroupResource;
  readonly namesUnreadable: boolean;
  readonly counters: StoreCounters;
  readonly turns: WriteTurns;
}

/** Keeps the objects of one resource in the engine. Always ready; its only state is its open watches. */
export class ObjectStore<T extends KubernetesObject> implements Storage<T> {
  readonly keys: KeySpace;
  readonly #engine: Engine;
  readonly #puts: PutCommitter;
  readonly #coder: ObjectCoder<T>;
  readonly #counters: StoreCounters;
  readonly #tracer: StoreTracer;
  readonly #clock: Clock;
  readonly #kind: string;
  readonly #resource: GroupResource;
  readonly #random: () => number;
  /** The parts that every operation reads with. */
  readonly #reading: ReadingContext<T>;
  readonly #turns: WriteTurns;
  readonly #watches = new Set<ObjectWatch<T>>();
  #isClosed = false;

  constructor(options: ObjectStoreOptions<T>) {
    const { keyPrefix = '/registry', resourcePrefix, clock = systemClock, logger = silentLogger } = options;
    const counters = new StoreCounters(clock);
    this.#counters = counters;
    this.#clock = clock;
    this.#tracer = new StoreTracer({ clock, logger });
    this.#kind = options.kind ?? '';
    this.keys = new KeySpace({ keyPrefix, resourcePrefix });
    this.#engine = options.engine;
    const leases = new LeaseManager({
      engine: options.engine,
      clock,
      reuseSeconds: options.leaseReuseSeconds ?? 60,
      maxObjects: options.leaseMaxObjects ?? 1_000,
      objectCounts: counters.leaseObjects,
    });
    this.#resource = options.groupResource;
    this.#random = options.random ?? Math.random;
    this.#coder = new ObjectCoder({
      codec: options.codec,
      transformer: options.transformer ?? identityTransformer,
      freeze: options.freeze ?? false,
      onDecodeError: () => counters.decodeErrors++,
    });
    this.#turns = new WriteTurns({ clock, hasQueues: options.queuesReaders ?? clock === systemClock });
    this.#puts = new PutCommitter({ engine: options.engine, leases, turns: this.#turns, counters, clock });
    this.#reading = {
      engine: options.engine,
      coder: this.#coder,
      resource: options.groupResource,
      namesUnreadable: options.namesUnreadable ?? false,
      counters,
      turns: this.#turns,
    };
  }

  async create(key: string, object: T, options: StorageCreateOptions = {}): Promise<Stored<T>> {
    const call = this.#call('Create etcd3', key, options);
    const trace = this.#tracer.begin(call);
    try {
      const stored = await this.#create({ key, object, options }, trace);
      this.#tracer.end(call, trace);
      return stored;
    } catch (error) {
      this.#tracer.end(call, trace, error);
      throw error;
    }
  }

  get(key: string, options: StorageGetOptions<T> = {}): Promise<Stored<T> | undefined> {
    const { resourceVersion = '' } = options;
    const attributes = (): SpanAttributes => ({ ...this.#attributes(key, options), resourceVersion });
    return this.#tracer.run({ name: 'Get etcd3', attributes, span: options.span }, (trace) =>
      this.#get(key, options, trace),
    );
  }

  /** Counts as a get in metrics and traces when the answer is true; otherwise nothing is recorded. */
  isNewest(known: Stored<T>, options: StorageCallOptions = {}): boolean {
    // An encrypted value has to be read, because its key may be gone.
    if (this.#isClosed || !this.#coder.isPlain || this.#engine.isNewest === undefined) return false;
    const { key, revision, storedBytes } = known;
    if (this.#turns.has(key)) return false;
    const startMs = this.#clock.monotonicNow();
    if (!this.#engine.isNewest(key, revision)) return false;
    const endMs = this.#clock.monotonicNow();
    this.#counters.requested('get', endMs - startMs);
    const attributes = (): SpanAttributes => ({ ...this.#attributes(key, options), resourceVersion: '' });
    const step = { name: 'value read', atMs: endMs - startMs, len: storedBytes } as const;
    const call = { name: 'Get etcd3', attributes, span: options.span };
    this.#tracer.made(call, { startMs, durationMs: endMs - startMs, steps: () => [step] });
    return true;
  }

  getList(key: string, options: StorageListOptions<T>): Promise<StoredList<T>> {
    const call = {
      name: options.recursive ? 'List(recursive=true) etcd3' : 'List(recursive=false) etcd3',
      attributes: (): SpanAttributes => ({
        ...this.#attributes(key, options),
        resourceVersion: options.resourceVersion ?? '',
        resourceVersionMatch: options.resourceVersionMatch ?? '',
        limit: options.predicate.limit,
        continue: options.predicate.continue,
      }),
      span: options.span,
    };
    return this.#tracer.run(call, (trace) => {
      const context = { ...this.#reading, trace };
      if (options.recursive) return listPrefix(context, this.#open(this.keys.recursive(key)), options);
      return listOne(context, this.#open(this.keys.single(key)), options);
    });
  }

  delete(key: string, options: StorageDeleteOptions<T> = {}): Promise<Stored<T>> {
    const call = this.#call('Delete etcd3', key, options);
    return this.#tracer.run(call, (trace) => {
      this.#open(this.keys.single(key));
      return new DeleteLoop({ ...this.#reading, trace }, { key, options }).run();
    });
  }

  deleteUnreadable(key: string, options: UnreadableDeleteOptions = {}): Promise<Revision> {
    const call = this.#call('Delete etcd3', key, options);
    return this.#tracer.run(call, (trace) => {
      this.#open(this.keys.single(key));
      return deleteUnreadable({ ...this.#reading, trace }, { key, options });
    });
  }

  async guaranteedUpdate(
    key: string,
    tryUpdate: TryUpdate<T>,
    options: GuaranteedUpdateOptions<T> = {},
  ): Promise<Stored<T>> {
    const call = this.#call('GuaranteedUpdate etcd3', key, options);
    const trace = this.#tracer.begin(call);
    try {
      this.#open(this.keys.single(key));
      const context = { ...this.#reading, puts: this.#puts, trace };
      const stored = await new UpdateLoop(context, { key, tryUpdate, options }).run();
      this.#tracer.end(call, trace);
      return stored;
    } catch (error) {
      this.#tracer.end(call, trace, error);
      throw error;
    }
  }

  watch(key: string, options: StorageWatchOptions<T>, sink: StorageWatchSink<T>): StorageWatch {
    const checked = this.#open(options.recursive ? this.keys.recursive(key) : this.keys.single(key));
    const after = parseResourceVersion(options.resourceVersion ?? '');
    const range = options.recursive ? rangeOf(checked) : rangeOfOne(checked);
    const context = { ...this.#reading, random: this.#random };
    const watch = new ObjectWatch(context, { range, after, options, sink }, (closed) => this.#watches.delete(closed));
    this.#watches.add(watch);
    watch.start();
    return watch;
  }

  async stats(): Promise<StorageStats> {
    this.#open(this.keys.prefix);
    const count = (): Promise<number> => this.#engine.count(this.keys.range);
    return { objectCount: await this.#counters.request('listWithCount', count), averageObjectBytes: 0 };
  }

  currentResourceVersion(): Promise<Revision> {
    return this.#counters.request('getCurrentResourceVersion', () => this.#engine.currentRevision());
  }

  readiness(): Error | undefined {
    return this.#isClosed ? new StorageError({ code: 'Closed' }) : undefined;
  }

  requestWatchProgress(): Promise<void> {
    return this.#engine.requestProgress();
  }

  get supportsProgressRequests(): boolean {
    return this.#engine.supportsProgressRequests;
  }

  compactRevision(): Revision {
    return this.#engine.compactRevision();
  }

  /** Returns the counts of this store so far, for metrics. */
  inspect(): StoreInspection {
    return this.#counters.inspect();
  }

  /** Ends all watches without an error and refuses further calls. The engine stays open. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const watch of this.#watches) watch.close();
    this.#turns.close();
  }

  async #create(
    { key, object, options }: { readonly key: string; readonly object: T; readonly options: StorageCreateOptions },
    trace: StoreTrace,
  ): Promise<Stored<T>> {
    this.#open(this.keys.single(key));
    if (revisionOf(object) !== 0) throw plainStatusError('resourceVersion should not be set on objects to be created');
    trace.step('About to Encode');
    const plain = options.isLarge === true ? await this.#coder.encodeLarge(object) : this.#coder.encode(object);
    trace.step('Encode succeeded', plain.length);
    const value = this.#coder.transform(key, plain);
    trace.step('TransformToStorage succeeded');
    options.signal?.throwIfAborted();
    const { ttlSeconds, signal } = options;
    const put = { key, expectedRevision: 0 as Revision, value, ttlSeconds, signal, span: trace.part };
    const outcome = await this.#puts.commit('create', put);
    trace.step('Txn call succeeded');
    if (!outcome.succeeded) throw new StorageError({ code: 'KeyExists', key });
    const isLarge = plain.length >= largeObjectBytes;
    const stored = isLarge
      ? await this.#coder.writtenLarge(key, plain, outcome.revision)
      : this.#coder.written(key, plain, outcome.revision);
    trace.step('decode succeeded', plain.length);
    return stored;
  }

  async #get(key: string, options: StorageGetOptions<T>, trace: StoreTrace): Promise<Stored<T> | undefined> {
    this.#open(this.keys.single(key));
    const { signal } = options;
    const turn = options.resourceVersion ? undefined : this.#turns.wait(key, signal);
    if (turn !== undefined) await turn;
    const read = await this.#counters.request('get', () => this.#engine.get(key, { signal, span: trace.part }));
    trace.step('value read', read.kv?.value.length);
    requireNotOlder(options.resourceVersion, read.revision);
    if (read.kv === undefined) return undefined;
    const { known } = options;
    if (isStill(read.kv, known)) return known;
    await this.#coder.prepare(read.kv);
    const stored = this.#coder.read(read.kv);
    trace.step('decode succeeded', stored.storedBytes);
    return stored;
  }

  #call(name: string, key: string, options: StorageCallOptions): TracedCall {
    return { name, attributes: () => this.#attributes(key, options), span: options.span };
  }

  #attributes(key: string, { auditId }: StorageCallOptions): SpanAttributes {
    return {
      ...(auditId !== undefined && { 'audit-id': auditId }),
      key,
      ...(this.#kind !== '' && { type: this.#kind }),
      resource: formatGroupResource(this.#resource),
    };
  }

  #open(key: string): string {
    if (this.#isClosed) throw new StorageError({ code: 'Closed', key });
    return key;
  }
}

/**
 * Returns whether the store still has the known object. The length of an encrypted value differs, so it is always read:
 * its key may be gone.
 */
function isStill<T extends KubernetesObject>(kv: KeyValue, known: Stored<T> | undefined): known is Stored<T> {
  return known?.revision === kv.modRevision && known.storedBytes === kv.value.length;
}
