// One informer per resource for a whole program. Source: client-go informers/factory.go.

import type { KubernetesObject, ListerWatcher, ListerWatcherScope, Resource } from '@kapstan/api';
import { boundCallbacks, immediate, requireResource } from '@kapstan/api/internal';
import type { Transform } from './fifo/fifo.ts';
import { informerCallbacks, requestCallbacks, requireClient, requirePeriods } from './guards/informer-checks.ts';
import { requireOptionsOf } from './guards/informer-option-tables.ts';
import { type Warn, warningTo } from './guards/process-warning.ts';
import { watchKindRemoval } from './kind-removal.ts';
import { metadataListerWatcher, type PartialObjectMetadata } from './metadata-lister-watcher.ts';
import { sourceName } from './reflector/reflector-events.ts';
import { SharedInformer } from './shared-informer.ts';
import type { InformerOptions, SharedInformerFactoryOptions } from './shared-informer-factory-options.ts';
import type { SharedInformerOptions } from './shared-informer-options.ts';
import type { Indexers } from './store/indexer.ts';
import { waitForCacheSync } from './wait-for-cache-sync.ts';

/** The part of a client that informers need; a `ResourceClient` fits. */
export interface ListerWatcherSource {
  listerWatcher<T extends KubernetesObject>(resource: Resource<T>, scope?: ListerWatcherScope): ListerWatcher<T>;
}

/** A share in an informer of a factory. */
export interface InformerHandle<T extends KubernetesObject> {
  /** Shared. Close your own handlers and streams before the handle: it does not know which of the informer's handlers are yours. */
  readonly informer: SharedInformer<T>;
  /**
   * Returns the share. The last handle closes the informer, and its call resolves when that has ended; other calls resolve at once.
   * Idempotent.
   */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** An informer of a factory, see {@link SharedInformerFactory.informers}. */
export interface SharedFactoryInformer {
  readonly resource: Resource;
  readonly isMetadataOnly: boolean;
  readonly informer: SharedInformer<KubernetesObject>;
}

/** Options that only the first request for a resource sets. */
const firstDecides = ['resyncMs', 'transform', 'fifo', 'retryOnError', 'onHandlerError'] as const;
type Decided = Partial<Pick<InformerOptions<KubernetesObject>, (typeof firstDecides)[number]>>;

/** An informer, and its users. */
interface SharedEntry {
  readonly key: string;
  readonly resource: Resource;
  readonly informer: SharedInformer<KubernetesObject>;
  readonly decided: Decided;
  /** Options of later requests for which a warning was given. */
  readonly told: Set<keyof Decided>;
  handles: number;
  /** True when it was requested without a handle: it then stays until it is removed. */
  isKept: boolean;
}

/** Shares informers by resource: two requests for one resource get the same informer, cache and watch. */
export class SharedInformerFactory {
  readonly #client: ListerWatcherSource;
  readonly #options: SharedInformerFactoryOptions;
  readonly #customResyncMs: ReadonlyMap<string, number>;
  readonly #entries = new Map<string, SharedEntry>();
  readonly #warn: Warn;
  #isClosed = false;

  /** Throws TypeError on bad options. */
  constructor(client: ListerWatcherSource, options: SharedInformerFactoryOptions = {}) {
    requireClient(client);
    requireOptionsOf<SharedInformerFactoryOptions>('a factory', options);
    this.#client = client;
    this.#options = options;
    this.#warn = warningTo(options.logger);
    const periods = requirePeriods(options.customResyncMs ?? []);
    this.#customResyncMs = new Map(periods.map(([resource, ms]) => [keyOf(resource), ms]));
  }

  /**
   * Returns the informer of a resource, created at the first request; {@link start} starts it. It stays until {@link removeInformer} or
   * {@link close}. Missing indexers are added. A closed factory still returns its informers, stopped. Throws Error on a closed factory that
   * has none, and TypeError on bad options or when the informer is shared with another kind or scope.
   */
  informer<T extends KubernetesObject>(resource: Resource<T>, options: InformerOptions<T> = {}): SharedInformer<T> {
    return keep(this.#whole(resource, options));
  }

  /**
   * Like {@link informer}, but only for the objects' metadata: a fraction of the data is listed and cached. It has its own watch in
   * addition to the watch of whole objects, and uses the factory's options.
   */
  metadataInformer(
    resource: Resource,
    options: InformerOptions<PartialObjectMetadata> = {},
  ): SharedInformer<PartialObjectMetadata> {
    return keep(this.#metadata(resource, options));
  }

  /**
   * Like {@link informer}, but temporary: when the last handle is closed and nobody has requested the informer without one, it is closed
   * and forgotten, and the next request creates a new one.
   */
  acquire<T extends KubernetesObject>(resource: Resource<T>, options: InformerOptions<T> = {}): InformerHandle<T> {
    return this.#handle(this.#whole(resource, options));
  }

  /** Like {@link metadataInformer}, but temporary, see {@link acquire}. */
  acquireMetadata(
    resource: Resource,
    options: InformerOptions<PartialObjectMetadata> = {},
  ): InformerHandle<PartialObjectMetadata> {
    return this.#handle(this.#metadata(resource, options));
  }

  /**
   * Yields the present informers, in the order of their first requests, for pages and metrics about the kinds that a program follows.
   */
  *informers(): Generator<SharedFactoryInformer, void, undefined> {
    for (const { key, resource, informer } of this.#entries.values())
      yield { resource, informer, isMetadataOnly: key === metadataKeyOf(resource) };
  }

  /** Starts the requested informers that are not running. May be called again after further requests; does nothing once closed. */
  start(): void {
    if (this.#isClosed) return;
    for (const { informer } of this.#entries.values()) if (!informer.isStopped) informer.start();
  }

  /**
   * Waits until each started informer has synced or is closed, or the signal aborts. Returns whether each has synced, by
   * "plural.version.group" (with " metadata" appended for informers of metadata).
   */
  async waitForCacheSync(options: { readonly signal?: AbortSignal } = {}): Promise<ReadonlyMap<string, boolean>> {
    const started = [...this.#entries.values()].filter(({ informer }) => informer.isStarted);
    // Each is awaited separately, so one that is removed meanwhile does not end the wait for the others.
    await Promise.all(started.map(({ informer }) => waitForCacheSync([informer], options)));
    return new Map(started.map(({ key, informer }) => [key, informer.hasSynced]));
  }

  /**
   * Closes the informers of a resource, even if others still use them, and forgets them: the next request creates a new one. Resolves when
   * they have ended; at once for an unknown resource. Source: controller-runtime Informers.RemoveInformer.
   */
  async removeInformer(resource: Resource): Promise<void> {
    const entries = [keyOf(resource), metadataKeyOf(resource)].map((key) => this.#entries.get(key));
    await Promise.all(entries.map((entry) => entry && this.#remove(entry)));
  }

  /** Closes all informers; none is created or started afterwards. Resolves when they have ended. Idempotent. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#entries.values()].map(({ informer }) => informer.close()));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  // ---- Who needs which informer ----

  #handle<T extends KubernetesObject>(entry: SharedEntry): InformerHandle<T> {
    entry.handles++;
    let closing: Promise<void> | undefined;
    const close = (): Promise<void> => {
      closing ??= this.#giveBack(entry);
      return closing;
    };
    return { informer: informerOf<T>(entry), close, [Symbol.asyncDispose]: close };
  }

  // Atomic: a later request gets a new informer.
  #giveBack(entry: SharedEntry): Promise<void> {
    entry.handles--;
    return entry.handles === 0 && !entry.isKept ? this.#remove(entry) : Promise.resolve();
  }

  /** Removes an entry; one that was already removed has no effect on its successor. */
  #remove(entry: SharedEntry, reason?: Error): Promise<void> {
    if (this.#entries.get(entry.key) === entry) this.#entries.delete(entry.key);
    return entry.informer.close(reason);
  }

  // ---- Making ----

  #whole<T extends KubernetesObject>(resource: Resource<T>, options: InformerOptions<T>): SharedEntry {
    requireRequest(resource, options);
    return this.#shared(keyOf(resource), { resource, options }, () =>
      this.#create(resource, this.#client.listerWatcher(resource, this.#scope()), options),
    );
  }

  #metadata(resource: Resource, options: InformerOptions<PartialObjectMetadata>): SharedEntry {
    requireRequest(resource, options);
    return this.#shared(metadataKeyOf(resource), { resource, options }, () => {
      const source = this.#client.listerWatcher(resource, { ...this.#scope(), metadataOnly: true });
      // The name is given without the kind, because the received objects have another kind.
      const named = { group: resource.group, version: resource.version, plural: resource.plural };
      return this.#create(resource as Resource<PartialObjectMetadata>, metadataListerWatcher(source), {
        ...boundCallbacks(options, requestCallbacks),
        resource: named,
        // Differs from the name of the informer of whole objects, which may have other trouble.
        name: `${sourceName(resource)} (metadata)`,
        metrics: this.#options.metrics?.ofMetadata(),
      });
    });
  }

  #shared<T extends KubernetesObject>(
    key: string,
    { resource, options }: { readonly resource: Resource; readonly options: InformerOptions<T> },
    create: () => SharedInformer<T>,
  ): SharedEntry {
    const existing = this.#entries.get(key);
    if (existing !== undefined) {
      requireSameKind(existing.resource, resource);
      this.#tellOfIgnored(existing, options as unknown as Decided);
      addMissingIndexers(informerOf<T>(existing), options.indexers ?? {});
      return existing;
    }
    if (this.#isClosed) throw new Error('the informer factory is closed');
    const informer = create() as unknown as SharedInformer<KubernetesObject>;
    const entry: SharedEntry = {
      key,
      resource,
      informer,
      decided: this.#decided(resource, options as unknown as Decided),
      told: new Set(),
      handles: 0,
      isKept: false,
    };
    this.#entries.set(key, entry);
    const { isServed } = this.#options;
    if (isServed !== undefined)
      watchKindRemoval(informer, {
        name: sourceName(resource),
        isServed: () => isServed.call(this.#options, resource),
        warn: this.#warn,
        onGone: (reason) => void this.#remove(entry, reason),
      });
    return entry;
  }

  #decided(resource: Resource, options: Decided): Decided {
    return {
      fifo: 'delta',
      retryOnError: false,
      ...this.#options,
      ...options,
      resyncMs: this.#resyncMs(resource, options),
    };
  }

  #tellOfIgnored({ resource, decided, told }: SharedEntry, options: Decided): void {
    const differs = (name: keyof Decided): boolean => options[name] !== undefined && options[name] !== decided[name];
    const ignored = firstDecides.filter((name) => differs(name) && !told.has(name));
    if (ignored.length === 0) return;
    for (const name of ignored) told.add(name);
    const have = ignored.length === 1 ? 'has' : 'have';
    this.#warn(`${sourceName(resource)}: already shared: ${ignored.join(', ')} of a later request ${have} no effect`);
  }

  #scope(): ListerWatcherScope {
    const { namespace } = this.#options;
    return namespace ? { namespace } : {};
  }

  #create<T extends KubernetesObject>(
    resource: Resource<T>,
    listerWatcher: ListerWatcher<T>,
    options: InformerOptions<T> & Pick<SharedInformerOptions<T>, 'resource' | 'name' | 'metrics'>,
  ): SharedInformer<T> {
    const {
      namespace: _,
      tweakListOptions,
      transform,
      customResyncMs: __,
      isServed: ___,
      ...common
    } = boundCallbacks(this.#options, [...informerCallbacks, 'tweakListOptions']);
    return new SharedInformer<T>(listerWatcher, {
      ...(common as SharedInformerOptions<T>),
      transform: transform as unknown as Transform<T> | undefined,
      ...immediate(tweakListOptions?.(resource), 'what tweakListOptions gives'),
      resource,
      ...boundCallbacks(options, requestCallbacks),
      resyncMs: this.#resyncMs(resource, options),
    });
  }

  #resyncMs(resource: Resource, { resyncMs }: { readonly resyncMs?: number }): number {
    return resyncMs ?? this.#customResyncMs.get(keyOf(resource)) ?? this.#options.resyncMs ?? 0;
  }
}

/** Returns "deployments.v1.apps"; "pods.v1." for the core group. */
const keyOf = (resource: Resource): string => `${resource.plural}.${resource.version}.${resource.group}`;

/** Returns "deployments.v1.apps metadata". */
const metadataKeyOf = (resource: Resource): string => `${keyOf(resource)} metadata`;

const informerOf = <T extends KubernetesObject>({ informer }: SharedEntry): SharedInformer<T> =>
  informer as unknown as SharedInformer<T>;

function keep<T extends KubernetesObject>(entry: SharedEntry): SharedInformer<T> {
  entry.isKept = true;
  return informerOf<T>(entry);
}

/** The request is checked before the lookup, so that a wrong one fails even when the informer exists. */
function requireRequest(resource: Resource, options: unknown): void {
  requireResource(resource, 'a factory');
  requireOptionsOf<InformerOptions<KubernetesObject>>('an informer of a factory', options);
}

/** The resource of the first request decides the kind; a resource with another kind would silently get wrong objects. */
function requireSameKind(first: Resource, resource: Resource): void {
  if (first.kind === resource.kind && first.scope === resource.scope) return;
  const [has, wanted] = [first, resource].map(({ kind, scope }) => `${kind} (${scope})`);
  throw new TypeError(`${keyOf(resource)} is already shared as ${has} and cannot be ${wanted}`);
}

function addMissingIndexers<T extends KubernetesObject>(informer: SharedInformer<T>, indexers: Indexers<T>): void {
  const missing = Object.entries(indexers).filter(([name]) => !informer.indexer.hasIndex(name));
  if (missing.length > 0) informer.addIndexers(Object.fromEntries(missing));
}
