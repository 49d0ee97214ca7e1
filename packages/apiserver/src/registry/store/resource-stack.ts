// ResourceStack: a definition with all that is below it: engine → ObjectStore → Cacher (or not) → GenericStore. What the
// REST options of the Go library choose: cached or undecorated storage, by flag and by resource.

import { type Clock, type Logger, systemClock, type UnstructuredObject } from '@kapstan/api';
import { formatGroupResource } from '@kapstan/api/internal';
import { Cacher } from '@kapstan/cacher';
import {
  type Codec,
  type Engine,
  jsonCodec,
  ObjectStore,
  type Storage,
  type StorageStats,
  type StoreInspection,
  type Transformer,
} from '@kapstan/storage';
import type { ServedResource } from '../definition/catalog.ts';
import type { ResourceDefinition } from '../definition/resource-definition.ts';
import { versionedCodec } from '../definition/versioned-codec.ts';
import { GenericStore, type StoreHooks } from './generic-store.ts';

/** What all resources of a server have in common. */
export interface ResourceStackOptions extends StoreHooks {
  readonly engine: Engine;
  /** What all keys begin with (`--etcd-prefix`). Default "/registry". */
  readonly keyPrefix?: string;
  /** `--watch-cache`: false = every resource is served straight from storage. Default true. */
  readonly watchCache?: boolean;
  /**
   * `--watch-cache-sizes` by group resource ("pods", "deployments.apps"): how many events the history of its cache has room
   * for at first, 100 to 102 400; then it follows the load. 0 = this one without a cache. Default: `defaultWatchCacheSize`, and none
   * for definitions that say `uncachedByDefault`.
   */
  readonly watchCacheSizes?: ReadonlyMap<string, number>;
  /** `--default-watch-cache-size`: the same for the resources that `watchCacheSizes` does not name. Default 100. */
  readonly defaultWatchCacheSize?: number;
  /** `--lease-reuse-duration-seconds`. Default 60. */
  readonly leaseReuseSeconds?: number;
  /** Codec of the stored form; conversion between versions comes on top. Default: JSON. */
  readonly codecFor?: (definition: ResourceDefinition<UnstructuredObject>) => Codec<UnstructuredObject>;
  /** Encryption at rest. Default: none. */
  readonly transformerFor?: (definition: ResourceDefinition<UnstructuredObject>) => Transformer | undefined;
  /**
   * How long {@link ResourceStack.waitUntilReady} waits, in milliseconds: `--storage-initialization-timeout`. One object that
   * cannot be read keeps a cache empty, and only a server that runs can remove it. Default 60 000.
   */
  readonly initializationTimeoutMs?: number;
  /**
   * True: lists that meet unreadable objects name them, so that somebody can delete these by force. Default false: the first
   * such object refuses the list, as while the feature gate AllowUnsafeMalformedObjectDeletion is off.
   */
  readonly namesUnreadable?: boolean;
  /** Freezes everything that is handed out, for tests of I6. Default false. */
  readonly freeze?: boolean;
  readonly logger?: Logger;
  /** Called when a stack has been closed. Default: nothing. */
  readonly onClosed?: (stack: ResourceStack) => void;
}

const defaultCacheSize = 100;

const defaultInitializationTimeoutMs = 60_000;

/** One resource, ready to be installed in the catalog. */
export class ResourceStack {
  readonly served: ServedResource;
  /** Absent when the resource is served straight from storage. */
  readonly cacher: Cacher<UnstructuredObject> | undefined;
  readonly #objects: ObjectStore<UnstructuredObject>;
  readonly #options: ResourceStackOptions;

  /** Opens nothing but the cache's feed, when there is one. */
  constructor(definition: ResourceDefinition<UnstructuredObject>, options: ResourceStackOptions) {
    this.#options = options;
    this.#objects = objectStore(definition, options);
    const cacheSize = cacheSizeOf(definition, options);
    this.cacher = cacheSize === 0 ? undefined : cacherOver(this.#objects, definition, { ...options, cacheSize });
    this.cacher?.start();
    this.served = this.servedAs(definition);
  }

  /**
   * Another definition on the same storage, whose watches go on: one that differs in nothing that storage knows of
   * (prefix, stored version, conversion, scope, selectable fields).
   */
  servedAs(definition: ResourceDefinition<UnstructuredObject>): ServedResource {
    const storage: Storage<UnstructuredObject> = this.cacher ?? this.#objects;
    return { definition, store: new GenericStore<UnstructuredObject>({ ...this.#options, definition, storage }) };
  }

  /** Resolves when reads and watches are answered, or when the time for that is over; {@link readiness} tells which. */
  async waitUntilReady(): Promise<void> {
    const { clock = systemClock, initializationTimeoutMs = defaultInitializationTimeoutMs } = this.#options;
    const late = new AbortController();
    // Keeps the process alive: at the start nothing else may.
    const cancel = clock.setTimer(() => late.abort(), initializationTimeoutMs);
    try {
      await this.cacher?.waitUntilReady(late.signal);
    } catch (error) {
      if (!late.signal.aborted) throw error;
      const resource = formatGroupResource(this.served.definition);
      this.#options.logger?.error('Objects cannot be read; their resource is served without a cache', { resource });
    } finally {
      cancel();
    }
  }

  /** Undefined when ready, else why not. */
  readiness(): Error | undefined {
    return (this.cacher ?? this.#objects).readiness();
  }

  /** What the store below the cache has counted so far, for metrics. */
  inspectStore(): StoreInspection {
    return this.#objects.inspect();
  }

  /** Counts the stored objects; with a cache, their sizes too. */
  stats(): Promise<StorageStats> {
    return (this.cacher ?? this.#objects).stats();
  }

  /** Ends all watches. The engine stays open. Idempotent. */
  async close(): Promise<void> {
    await this.cacher?.close();
    await this.#objects.close();
    this.#options.onClosed?.(this);
  }
}

/** 0 = no cache. */
function cacheSizeOf(definition: ResourceDefinition<UnstructuredObject>, options: ResourceStackOptions): number {
  if (options.watchCache === false) return 0;
  const name = formatGroupResource(definition);
  const defaultSize = definition.uncachedByDefault === true ? 0 : (options.defaultWatchCacheSize ?? defaultCacheSize);
  return options.watchCacheSizes?.get(name) ?? defaultSize;
}

function objectStore(
  definition: ResourceDefinition<UnstructuredObject>,
  options: ResourceStackOptions,
): ObjectStore<UnstructuredObject> {
  const transformer = options.transformerFor?.(definition);
  return new ObjectStore<UnstructuredObject>({
    engine: options.engine,
    codec: versionedCodec(definition, options.codecFor?.(definition) ?? jsonCodec()),
    resourcePrefix: definition.storagePrefix,
    groupResource: { group: definition.group, resource: definition.resource },
    kind: definition.kind,
    ...(options.keyPrefix === undefined ? {} : { keyPrefix: options.keyPrefix }),
    ...(transformer === undefined ? {} : { transformer }),
    ...(options.freeze === undefined ? {} : { freeze: options.freeze }),
    ...(options.clock === undefined ? {} : { clock: options.clock }),
    ...(options.logger === undefined ? {} : { logger: options.logger }),
    ...(options.leaseReuseSeconds === undefined ? {} : { leaseReuseSeconds: options.leaseReuseSeconds }),
    ...(options.random === undefined ? {} : { random: options.random }),
    ...(options.namesUnreadable === undefined ? {} : { namesUnreadable: options.namesUnreadable }),
  });
}

function cacherOver(
  storage: ObjectStore<UnstructuredObject>,
  definition: ResourceDefinition<UnstructuredObject>,
  options: ResourceStackOptions & { readonly cacheSize: number },
): Cacher<UnstructuredObject> {
  const ports: { clock?: Clock; logger?: Logger; random?: () => number } = {};
  if (options.clock !== undefined) ports.clock = options.clock;
  if (options.logger !== undefined) ports.logger = options.logger;
  if (options.random !== undefined) ports.random = options.random;
  return new Cacher<UnstructuredObject>({
    storage,
    resourcePrefix: definition.storagePrefix,
    initialHistory: options.cacheSize,
    getAttributes: definition.getAttributes,
    ...(definition.indexedFields === undefined ? {} : { indexedFields: definition.indexedFields }),
    ...(options.keyPrefix === undefined ? {} : { keyPrefix: options.keyPrefix }),
    ...(options.freeze === undefined ? {} : { freeze: options.freeze }),
    ...ports,
  });
}
