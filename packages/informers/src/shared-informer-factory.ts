// One informer per resource for a whole program. Source: client-go informers/factory.go.
import type { KubernetesObject, ListerWatcher, Resource, SelectionOptions } from '@kapstan/api';
import type { Transform } from './fifo.ts';
import type { Indexers } from './indexer.ts';
import { SharedInformer } from './shared-informer.ts';
import type { SharedInformerOptions } from './shared-informer-options.ts';
import { waitForCacheSync } from './wait-for-cache-sync.ts';

/** As much of a client as informers need; a `ResourceClient` fits. */
export interface ListerWatcherSource {
  listerWatcher<T extends KubernetesObject>(
    token: Resource<T>,
    scope?: { readonly namespace?: string },
  ): ListerWatcher<T>;
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
    const key = keyOf(token);
    const existing = this.#informers.get(key) as SharedInformer<T> | undefined;
    if (existing !== undefined) {
      addMissingIndexers(existing, options.indexers ?? {});
      return existing;
    }
    if (this.#isClosed) throw new Error('the informer factory is closed');
    const informer = this.#create(token, options);
    this.#informers.set(key, informer as unknown as SharedInformer<KubernetesObject>);
    return informer;
  }

  /** Starts the informers that were requested and are not running. May be called again after further requests; nothing happens once closed. */
  start(): void {
    if (this.#isClosed) return;
    for (const informer of this.#informers.values()) if (!informer.isStopped) informer.start();
  }

  /** Whether each started informer has synced, by "plural.version.group", when all have or are closed, or the signal aborts. */
  async waitForCacheSync(options: { readonly signal?: AbortSignal } = {}): Promise<ReadonlyMap<string, boolean>> {
    const started = [...this.#informers].filter(([, informer]) => informer.isStarted);
    // Each by itself: one that is removed meanwhile does not end the waiting for the others.
    await Promise.all(started.map(([, informer]) => waitForCacheSync([informer], options)));
    return new Map(started.map(([key, informer]) => [key, informer.hasSynced]));
  }

  /**
   * Closes the informer of a resource that is no longer served and forgets it: the next request makes a new one. Resolves
   * when it has ended; at once for an unknown one. Source: controller-runtime Informers.RemoveInformer.
   */
  async removeInformer(token: Resource): Promise<void> {
    const informer = this.#informers.get(keyOf(token));
    this.#informers.delete(keyOf(token));
    await informer?.close();
  }

  /** Closes all informers; none is made or started any more. Resolves when they have ended. Idempotent. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#informers.values()].map((informer) => informer.close()));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #create<T extends KubernetesObject>(token: Resource<T>, options: InformerOptions<T>): SharedInformer<T> {
    const { namespace, tweakListOptions, transform, customResyncMs: _, ...common } = this.#options;
    const listerWatcher = this.#client.listerWatcher(token, namespace ? { namespace } : {});
    const resyncMs = options.resyncMs ?? this.#customResyncMs.get(keyOf(token)) ?? common.resyncMs ?? 0;
    return new SharedInformer<T>(listerWatcher, {
      ...(common as SharedInformerOptions<T>),
      ...(transform === undefined ? {} : { transform: transform as unknown as Transform<T> }),
      ...tweakListOptions?.(token),
      ...options,
      resource: token,
      resyncMs,
    });
  }
}

/** "deployments.v1.apps"; "pods.v1." for the core group. */
const keyOf = (token: Resource): string => `${token.plural}.${token.version}.${token.group}`;

function addMissingIndexers<T extends KubernetesObject>(informer: SharedInformer<T>, indexers: Indexers<T>): void {
  const missing = Object.entries(indexers).filter(([name]) => !informer.indexer.hasIndex(name));
  if (missing.length > 0) informer.addIndexers(Object.fromEntries(missing));
}
