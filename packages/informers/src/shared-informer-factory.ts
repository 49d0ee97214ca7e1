// One informer per resource for a whole program. Source: client-go informers/factory.go.
import type { KubernetesObject, ListerWatcher, ListerWatcherScope, Resource, SelectionOptions } from '@kapstan/api';
import type { Transform } from './fifo.ts';
import type { Indexers } from './indexer.ts';
import { metadataListerWatcher, type PartialObjectMetadata } from './metadata-lister-watcher.ts';
import { SharedInformer } from './shared-informer.ts';
import type { SharedInformerOptions } from './shared-informer-options.ts';
import { waitForCacheSync } from './wait-for-cache-sync.ts';

/** As much of a client as informers need; a `ResourceClient` fits. */
export interface ListerWatcherSource {
  listerWatcher<T extends KubernetesObject>(token: Resource<T>, scope?: ListerWatcherScope): ListerWatcher<T>;
}

type CommonOptions = Omit<
  SharedInformerOptions<KubernetesObject>,
  'resource' | 'indexers' | 'transform' | 'resyncMs' | 'labelSelector' | 'fieldSelector'
>;

export interface SharedInformerFactoryOptions extends CommonOptions {
  /** Default resync period, in milliseconds. 0 (default) = none. */
  readonly resyncMs?: number;
  /** Resync periods of single resources, in milliseconds. */
  readonly customResyncMs?: Iterable<readonly [Resource, number]>;
  /** Namespace that all informers look at. Absent or "" = all. */
  readonly namespace?: string;
  /** Selectors of an informer's lists and watches. Default: everything. */
  readonly tweakListOptions?: (token: Resource) => Omit<SelectionOptions, 'namespace'>;
  /** Applied to every informer that has none of its own. */
  readonly transform?: Transform<KubernetesObject>;
}

/** What one informer adds to the factory's options. Only the first request for a resource decides, but indexers are added by each. */
export interface InformerOptions<T extends KubernetesObject> {
  readonly indexers?: Indexers<T>;
  readonly resyncMs?: number;
  readonly transform?: Transform<T>;
  readonly fifo?: 'delta' | 'inOrder';
  readonly onHandlerError?: NonNullable<SharedInformerOptions<T>['onHandlerError']>;
}

/** Shares informers by resource: two requests for one resource get one informer, one cache and one watch. */
export class SharedInformerFactory {
  readonly #client: ListerWatcherSource;
  readonly #options: SharedInformerFactoryOptions;
  readonly #customResyncMs: ReadonlyMap<string, number>;
  readonly #informers = new Map<string, SharedInformer<KubernetesObject>>();
  #isClosed = false;

  constructor(client: ListerWatcherSource, options: SharedInformerFactoryOptions = {}) {
    this.#client = client;
    this.#options = options;
    this.#customResyncMs = new Map([...(options.customResyncMs ?? [])].map(([token, ms]) => [keyOf(token), ms]));
  }

  /**
   * The informer of a resource, made at the first request; {@link start} starts it. Indexers that it does not have are
   * added. Throws Error on a closed factory.
   */
  informer<T extends KubernetesObject>(token: Resource<T>, options: InformerOptions<T> = {}): SharedInformer<T> {
    return this.#shared(keyOf(token), options, () =>
      this.#create(token, this.#client.listerWatcher(token, this.#scope()), options),
    );
  }

  /**
   * As {@link informer}, of the objects' metadata alone: what is listed and cached is a fraction of the objects. Has a watch
   * of its own beside that of the whole objects, and the factory's options.
   */
  metadataInformer(
    token: Resource,
    options: InformerOptions<PartialObjectMetadata> = {},
  ): SharedInformer<PartialObjectMetadata> {
    return this.#shared(metadataKeyOf(token), options, () => {
      const source = this.#client.listerWatcher(token, { ...this.#scope(), metadataOnly: true });
      // Named without its kind, which is not that of what comes.
      const resource = { group: token.group, plural: token.plural };
      return this.#create(token as Resource<PartialObjectMetadata>, metadataListerWatcher(source), {
        ...options,
        resource,
      });
    });
  }

  /** Starts the informers that were requested and are not running. May be called again after further requests; nothing happens once closed. */
  start(): void {
    if (this.#isClosed) return;
    for (const informer of this.#informers.values()) if (!informer.isStopped) informer.start();
  }

  /** Whether each started informer has synced, by "plural.version.group" (and " metadata"), when all have or are closed, or the signal aborts. */
  async waitForCacheSync(options: { readonly signal?: AbortSignal } = {}): Promise<ReadonlyMap<string, boolean>> {
    const started = [...this.#informers].filter(([, informer]) => informer.isStarted);
    // Each by itself: one that is removed meanwhile does not end the waiting for the others.
    await Promise.all(started.map(([, informer]) => waitForCacheSync([informer], options)));
    return new Map(started.map(([key, informer]) => [key, informer.hasSynced]));
  }

  /**
   * Closes the informers of a resource that is no longer served, or that nobody needs any more ({@link SharedInformer.consumers}
   * tells), and forgets them: the next request makes a new one. Resolves when they have ended; at once for an unknown resource. Source: controller-runtime Informers.RemoveInformer.
   */
  async removeInformer(token: Resource): Promise<void> {
    const keys = [keyOf(token), metadataKeyOf(token)];
    const informers = keys.map((key) => this.#informers.get(key));
    for (const key of keys) this.#informers.delete(key);
    await Promise.all(informers.map((informer) => informer?.close()));
  }

  /** Closes all informers; none is made or started any more. Resolves when they have ended. Idempotent. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#informers.values()].map((informer) => informer.close()));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #shared<T extends KubernetesObject>(
    key: string,
    options: InformerOptions<T>,
    create: () => SharedInformer<T>,
  ): SharedInformer<T> {
    const existing = this.#informers.get(key) as SharedInformer<T> | undefined;
    if (existing !== undefined) {
      addMissingIndexers(existing, options.indexers ?? {});
      return existing;
    }
    if (this.#isClosed) throw new Error('the informer factory is closed');
    const informer = create();
    this.#informers.set(key, informer as unknown as SharedInformer<KubernetesObject>);
    return informer;
  }

  #scope(): ListerWatcherScope {
    const { namespace } = this.#options;
    return namespace ? { namespace } : {};
  }

  #create<T extends KubernetesObject>(
    token: Resource<T>,
    listerWatcher: ListerWatcher<T>,
    options: InformerOptions<T> & Pick<SharedInformerOptions<T>, 'resource'>,
  ): SharedInformer<T> {
    const { namespace: _, tweakListOptions, transform, customResyncMs: __, ...common } = this.#options;
    const resyncMs = options.resyncMs ?? this.#customResyncMs.get(keyOf(token)) ?? common.resyncMs ?? 0;
    return new SharedInformer<T>(listerWatcher, {
      ...(common as SharedInformerOptions<T>),
      ...(transform === undefined ? {} : { transform: transform as unknown as Transform<T> }),
      ...tweakListOptions?.(token),
      resource: token,
      ...options,
      resyncMs,
    });
  }
}

/** "deployments.v1.apps"; "pods.v1." for the core group. */
const keyOf = (token: Resource): string => `${token.plural}.${token.version}.${token.group}`;

/** "deployments.v1.apps metadata". */
const metadataKeyOf = (token: Resource): string => `${keyOf(token)} metadata`;

function addMissingIndexers<T extends KubernetesObject>(informer: SharedInformer<T>, indexers: Indexers<T>): void {
  const missing = Object.entries(indexers).filter(([name]) => !informer.indexer.hasIndex(name));
  if (missing.length > 0) informer.addIndexers(Object.fromEntries(missing));
}
