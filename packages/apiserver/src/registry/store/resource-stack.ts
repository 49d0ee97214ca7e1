// ResourceStack connects a definition with everything below it: engine → ObjectStore → Cacher (or not) → GenericStore.
// In Go, RESTOptions make the same choice between cached and undecorated storage, by flag and by resource.

import { type Clock, type Logger, systemClock, type UnstructuredObject } from '@kapstan/api';
import { formatApiVersion, formatGroupResource } from '@kapstan/api/internal';
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
import { ConvertedStorage } from '../conversion/converted-storage.ts';
import type { ServedResource } from '../definition/catalog.ts';
import type { ResourceDefinition } from '../definition/resource-definition.ts';
import { versionedCodec } from '../definition/versioned-codec.ts';
import { GenericStore, type StoreHooks } from './generic-store.ts';

/** Options that all resources of a server share. */
export interface ResourceStackOptions extends StoreHooks {
  readonly engine: Engine;
  /** Prefix of all keys (`--etcd-prefix`). Default "/registry". */
  readonly keyPrefix?: string | undefined;
  /** `--watch-cache`: false = every resource is served straight from storage. Default true. */
  readonly watchCache?: boolean | undefined;
  /**
   * `--watch-cache-sizes` by group resource ("pods", "deployments.apps"): initial capacity of the cache's event
   * history, 100 to 102 400; it then follows the load. 0 = this resource has no cache. Default:
   * `defaultWatchCacheSize`, or no cache for definitions with `uncachedByDefault`.
   */
  readonly watchCacheSizes?: ReadonlyMap<string, number> | undefined;
  /** `--default-watch-cache-size`: capacity for resources that `watchCacheSizes` does not name. Default 100. */
  readonly defaultWatchCacheSize?: number | undefined;
  /** `--lease-reuse-duration-seconds`. Default 60. */
  readonly leaseReuseSeconds?: number | undefined;
  /** Returns the codec of the stored form; conversion between versions is added to it. Default: JSON. */
  readonly codecFor?: ((definition: ResourceDefinition<UnstructuredObject>) => Codec<UnstructuredObject>) | undefined;
  /** Returns the encryption at rest. Default: none. */
  readonly transformerFor?:
    | ((definition: ResourceDefinition<UnstructuredObject>) => Transformer | undefined)
    | undefined;
  /**
   * Maximum wait of {@link ResourceStack.waitUntilReady}, in milliseconds (`--storage-initialization-timeout`). A
   * single unreadable object keeps a cache empty, and only a running server can remove that object. Default 60 000.
   */
  readonly initializationTimeoutMs?: number | undefined;
  /**
   * True = lists that meet unreadable objects name them, so that they can be deleted by force. False = the first such
   * object refuses the list, as while the feature gate AllowUnsafeMalformedObjectDeletion is off. Default false.
   */
  readonly namesUnreadable?: boolean | undefined;
  /** Freezes every object that is handed out, to test I6. Default false. */
  readonly freeze?: boolean | undefined;
  readonly logger?: Logger | undefined;
  /** Called when a stack has been closed. Default: nothing. */
  readonly onClosed?: ((stack: ResourceStack) => void) | undefined;
}

const defaultCacheSize = 100;

const defaultInitializationTimeoutMs = 60_000;

/** The stack of one resource, ready for the catalog. */
export class ResourceStack {
  readonly served: ServedResource;
  /** Absent when the resource is served straight from storage. */
  readonly cacher: Cacher<UnstructuredObject> | undefined;
  readonly #objects: ObjectStore<UnstructuredObject>;
  readonly #options: ResourceStackOptions;

  /** Opens only the cache's feed, if there is a cache. */
  constructor(definition: ResourceDefinition<UnstructuredObject>, options: ResourceStackOptions) {
    this.#options = options;
    this.#objects = objectStore(definition, options);
    const cacheSize = cacheSizeOf(definition, options);
    this.cacher = cacheSize === 0 ? undefined : cacherOver(this.#objects, definition, { ...options, cacheSize });
    this.cacher?.start();
    this.served = this.servedAs(definition);
  }

  /**
   * Serves another definition from the same storage, without ending watches. The definition may not differ in anything
   * that the storage uses (prefix, stored version, conversion, scope, selectable fields).
   */
  servedAs(definition: ResourceDefinition<UnstructuredObject>): ServedResource {
    const storage = this.#storageFor(definition);
    return { definition, store: new GenericStore<UnstructuredObject>({ ...this.#options, definition, storage }) };
  }

  /**
   * Returns the storage for a version. With a conversion, any version of the kind can be served from the stored objects.
   */
  #storageFor(definition: ResourceDefinition<UnstructuredObject>): Storage<UnstructuredObject> {
    const base: Storage<UnstructuredObject> = this.cacher ?? this.#objects;
    const { conversion } = definition;
    if (conversion === undefined) return base;
    return new ConvertedStorage({
      base,
      conversion,
      served: formatApiVersion(definition),
      stored: formatApiVersion(definition.storageVersion),
      freeze: this.#options.freeze === true,
    });
  }

  /** Resolves when reads and watches work, or when the time is over; {@link readiness} tells these cases apart. */
  async waitUntilReady(): Promise<void> {
    const { clock = systemClock, initializationTimeoutMs = defaultInitializationTimeoutMs } = this.#options;
    const late = new AbortController();
    // This timer keeps the process alive, because nothing else may do so during the start.
    const cancel = clock.setTimer(() => late.abort(), initializationTimeoutMs);
    try {
      await this.cacher?.waitUntilReady(late.signal);
    } catch (error) {
      if (!late.signal.aborted) throw error;
      const resource = formatGroupResource(this.served.definition);
      this.#options.logger?.error('objects cannot be read; their resource is served without a cache', { resource });
    } finally {
      cancel();
    }
  }

  /** Returns undefined when ready, otherwise the reason. */
  readiness(): Error | undefined {
    return (this.cacher ?? this.#objects).readiness();
  }

  /** Returns the counts of the store below the cache, for metrics. */
  inspectStore(): StoreInspection {
    return this.#objects.inspect();
  }

  /** Counts the stored objects and, with a cache, their sizes. */
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

/** Returns the configured size; 0 = no cache. */
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
    keyPrefix: options.keyPrefix,
    transformer,
    freeze: options.freeze,
    clock: options.clock,
    logger: options.logger,
    leaseReuseSeconds: options.leaseReuseSeconds,
    random: options.random,
    namesUnreadable: options.namesUnreadable,
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
    groupResource: definition,
    storage,
    resourcePrefix: definition.storagePrefix,
    initialHistory: options.cacheSize,
    getAttributes: definition.getAttributes,
    indexedFields: definition.indexedFields,
    keyPrefix: options.keyPrefix,
    freeze: options.freeze,
    ...ports,
  });
}
