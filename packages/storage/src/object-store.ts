// ObjectStore: objects over any Engine, what etcd3/store.go is. Below: an Engine; above: the cacher or the registry.
import { type Clock, type GroupResource, type KubernetesObject, type Revision, systemClock } from '@kapstan/api';
import type { Codec } from './codec.ts';
import type { Engine } from './engine.ts';
import { rangeOf, rangeOfOne } from './key-range.ts';
import { KeySpace } from './keys.ts';
import { LeaseManager } from './lease-manager.ts';
import { ObjectCoder } from './object-coder.ts';
import { DeleteLoop } from './object-delete.ts';
import { listOne, listPrefix } from './object-list.ts';
import { UpdateLoop } from './object-update.ts';
import { ObjectWatch } from './object-watch.ts';
import type {
  GuaranteedUpdateOptions,
  Storage,
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
} from './storage.ts';
import { StorageError } from './storage-error.ts';
import type { Stored } from './stored.ts';
import { identityTransformer, type Transformer } from './transform/transformer.ts';
import { parseResourceVersion, plainStatusError, requireNotOlder, revisionOf } from './versioner.ts';

export interface ObjectStoreOptions<T extends KubernetesObject> {
  /** Shared by the stores of all resources; closing the store does not close it. */
  readonly engine: Engine;
  readonly codec: Codec<T>;
  /** What all keys begin with (`--etcd-prefix`). Default "/registry". */
  readonly keyPrefix?: string;
  /** What the keys of this resource go on with: "/pods". */
  readonly resourcePrefix: string;
  /** Named in errors. */
  readonly groupResource: GroupResource;
  /** Encryption at rest. Default: {@link identityTransformer}. */
  readonly transformer?: Transformer;
  /** Freezes all objects that are handed out, for tests of I6. Default false. */
  readonly freeze?: boolean;
  /** Source of time for the sharing of leases; the engine's. Default {@link systemClock}. */
  readonly clock?: Clock;
  /** `--lease-reuse-duration-seconds`: longest extra life of a lease so that keys can share it. 0 = no sharing. Default 60. */
  readonly leaseReuseSeconds?: number;
  /** Most keys to share a lease, at least 1. Default 1 000. */
  readonly leaseMaxObjects?: number;
  /** Random numbers in [0, 1), for retry times. Default Math.random. */
  readonly random?: () => number;
}

/** Objects of one resource type, in the engine. Always ready; holds no state but its open watches. */
export class ObjectStore<T extends KubernetesObject> implements Storage<T> {
  readonly keys: KeySpace;
  readonly #engine: Engine;
  readonly #leases: LeaseManager;
  readonly #coder: ObjectCoder<T>;
  readonly #resource: GroupResource;
  readonly #random: () => number;
  readonly #watches = new Set<ObjectWatch<T>>();
  #isClosed = false;

  constructor(options: ObjectStoreOptions<T>) {
    const { keyPrefix = '/registry', resourcePrefix } = options;
    this.keys = new KeySpace({ keyPrefix, resourcePrefix });
    this.#engine = options.engine;
    this.#leases = new LeaseManager({
      engine: options.engine,
      clock: options.clock ?? systemClock,
      reuseSeconds: options.leaseReuseSeconds ?? 60,
      maxObjects: options.leaseMaxObjects ?? 1_000,
    });
    this.#resource = options.groupResource;
    this.#random = options.random ?? Math.random;
    this.#coder = new ObjectCoder({
      codec: options.codec,
      transformer: options.transformer ?? identityTransformer,
      freeze: options.freeze ?? false,
    });
  }

  async create(key: string, object: T, options: StorageCreateOptions = {}): Promise<Stored<T>> {
    this.#open(this.keys.single(key));
    if (revisionOf(object) !== 0) throw plainStatusError('resourceVersion should not be set on objects to be created');
    const plain = this.#coder.encode(object);
    const value = this.#coder.transform(key, plain);
    options.signal?.throwIfAborted();
    const { ttlSeconds } = options;
    const outcome = await this.#leases.put({ key, expectedRevision: 0 as Revision, value, ttlSeconds });
    if (!outcome.succeeded) throw new StorageError({ code: 'KeyExists', key });
    return this.#coder.written(key, plain, outcome.revision);
  }

  async get(key: string, options: StorageGetOptions = {}): Promise<Stored<T> | undefined> {
    this.#open(this.keys.single(key));
    const read = await this.#engine.get(key, options.signal === undefined ? {} : { signal: options.signal });
    requireNotOlder(options.resourceVersion, read.revision);
    if (read.kv === undefined) return undefined;
    await this.#coder.prepare(read.kv);
    return this.#coder.read(read.kv);
  }

  async getList(key: string, options: StorageListOptions<T>): Promise<StoredList<T>> {
    const context = { engine: this.#engine, coder: this.#coder, resource: this.#resource };
    if (options.recursive) return listPrefix(context, this.#open(this.keys.recursive(key)), options);
    return listOne(context, this.#open(this.keys.single(key)), options);
  }

  async delete(key: string, options: StorageDeleteOptions<T> = {}): Promise<Stored<T>> {
    this.#open(this.keys.single(key));
    return new DeleteLoop(this.#engine, this.#coder, { key, options }).run();
  }

  async guaranteedUpdate(
    key: string,
    tryUpdate: TryUpdate<T>,
    options: GuaranteedUpdateOptions<T> = {},
  ): Promise<Stored<T>> {
    this.#open(this.keys.single(key));
    const context = { engine: this.#engine, leases: this.#leases, coder: this.#coder };
    return new UpdateLoop(context, { key, tryUpdate, options }).run();
  }

  watch(key: string, options: StorageWatchOptions<T>, sink: StorageWatchSink<T>): StorageWatch {
    const checked = this.#open(options.recursive ? this.keys.recursive(key) : this.keys.single(key));
    const after = parseResourceVersion(options.resourceVersion ?? '');
    const range = options.recursive ? rangeOf(checked) : rangeOfOne(checked);
    const context = { engine: this.#engine, coder: this.#coder, resource: this.#resource, random: this.#random };
    const watch = new ObjectWatch(context, { range, after, options, sink }, (closed) => this.#watches.delete(closed));
    this.#watches.add(watch);
    watch.start();
    return watch;
  }

  async stats(): Promise<StorageStats> {
    this.#open(this.keys.prefix);
    return { objectCount: await this.#engine.count(this.keys.range), averageObjectBytes: 0 };
  }

  currentResourceVersion(): Promise<Revision> {
    return this.#engine.currentRevision();
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

  /** Ends all watches silently and refuses further calls. The engine stays open. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const watch of this.#watches) watch.close();
  }

  #open(key: string): string {
    if (this.#isClosed) throw new StorageError({ code: 'Closed', key });
    return key;
  }
}
