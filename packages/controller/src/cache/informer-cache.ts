// InformerCache: the informers that all controllers of a manager share, and reads from them. Each kind has one list and
// watch, or one per namespace if only some are watched. It uses SharedInformerFactory, and is used by the manager and
// its controllers.
import { inspect } from 'node:util';
import {
  type DeepReadonly,
  type KubernetesObject,
  type ObjectTarget,
  objectKey,
  parseLabelSelector,
  type Resource,
} from '@kapstan/api';
import { requireObject, requireResource, requireString } from '@kapstan/api/internal';
import {
  type IndexFunction,
  type ListerWatcherSource,
  type SharedInformer,
  SharedInformerFactory,
  type SharedInformerFactoryOptions,
} from '@kapstan/informers';
import type { CacheProblem } from './cache-problem.ts';
import { type CachedKind, CachedKinds, isFilled } from './cached-kinds.ts';
import { isMetadataOnly } from './metadata-only.ts';

/** Informers wait for a kind that is gone, so that its controllers continue when it is back. */
export interface InformerCacheOptions extends Omit<SharedInformerFactoryOptions, 'namespace' | 'isServed'> {
  /** Namespaces to watch. Default and empty: all. Objects of cluster-scoped kinds are always visible. */
  readonly namespaces?: readonly string[];
}

/** Factory options with which its informers would see less than the cache assumes. */
const notGivenOn: Readonly<Record<string, string>> = {
  namespace: 'namespaces says where it looks',
  isServed: 'it waits for kinds that are not served',
};

/** A controller's view of a cache: shared, read-only objects, not older than its own writes. */
export interface CacheReader<T extends KubernetesObject> {
  /** Returns undefined when there is no such object. Throws TypeError for a malformed target. */
  get(target: ObjectTarget): DeepReadonly<T> | undefined;
  /** Throws Error for a selector that cannot be parsed, TypeError for unknown options. */
  list(options?: { readonly namespace?: string; readonly labelSelector?: string }): readonly DeepReadonly<T>[];
  /** Returns objects under one value of an index, see `index()` of a controller. Throws Error for an unknown index. */
  byIndex(index: string, value: string): readonly DeepReadonly<T>[];
}

/** Index by the uid of the controlling owner. */
export const controllerUidIndex = 'kapstan.controllerUid';

const controllerUid: IndexFunction<KubernetesObject> = (object) => [
  object.metadata?.ownerReferences?.find((reference) => reference.controller === true)?.uid,
];

interface ProblemFollower {
  readonly textOf: (problem: CacheProblem) => string;
  readonly tell: (problem: string) => void;
}

/** An informer of the cache, for the inspector. */
export interface CachedInformer {
  readonly kind: Resource;
  readonly informer: SharedInformer<KubernetesObject>;
  /** Undefined = it sees all namespaces. */
  readonly namespace: string | undefined;
}

/** All kinds are listed before the first reconcile of a controller that reads them; a controller may be added later with its kinds. */
export class InformerCache {
  readonly #factories: readonly SharedInformerFactory[];
  readonly #namespaces: readonly string[];
  readonly #hasSelectors: (resource: Resource) => boolean;
  readonly #cached = new Map<string, CachedKind>();
  #follower: ProblemFollower | undefined;

  /** Throws TypeError on bad options. */
  constructor(client: ListerWatcherSource, given: InformerCacheOptions = {}) {
    requireObject(given, 'options of an InformerCache');
    const { namespaces = [], ...options } = given;
    for (const [name, why] of Object.entries(notGivenOn))
      if ((options as Readonly<Record<string, unknown>>)[name] !== undefined)
        throw new TypeError(`informers of a cache take no ${name}: ${why}`);
    this.#namespaces = [...new Set(namespaces)];
    this.#factories =
      this.#namespaces.length === 0
        ? [new SharedInformerFactory(client, options)]
        : this.#namespaces.map((namespace) => {
            const metrics = options.metrics?.within(namespace);
            return new SharedInformerFactory(client, { ...options, namespace, metrics });
          });
    this.#hasSelectors = (resource) => Object.values(options.tweakListOptions?.(resource) ?? {}).some(Boolean);
  }

  /**
   * Returns the informers of a kind: one, or one per namespace. They are made at the first call. Throws TypeError as
   * {@link reader} does.
   */
  informers<T extends KubernetesObject>(resource: Resource<T>): readonly SharedInformer<T>[] {
    const present = this.#present(resource);
    if (present !== undefined) return present;
    const factories = resource.scope === 'Cluster' ? this.#factories.slice(0, 1) : this.#factories;
    const indexers = { [controllerUidIndex]: controllerUid };
    const made: readonly unknown[] = factories.map((factory) =>
      isMetadataOnly(resource)
        ? factory.metadataInformer(resource, { indexers })
        : factory.informer(resource as Resource, { indexers }),
    );
    const cached = { kind: resource, informers: made as CachedKind['informers'] };
    this.#cached.set(keyOf(resource), cached);
    if (this.#follower !== undefined) followProblemsOf(cached, this.#follower);
    return made as readonly SharedInformer<T>[];
  }

  /**
   * Indexes the objects of a kind by these values. Throws TypeError when an index of that name has another function.
   * Source: controller-runtime FieldIndexer.
   */
  index<T extends KubernetesObject>(resource: Resource<T>, name: string, valuesOf: IndexFunction<T>): void {
    for (const { indexer } of this.informers(resource)) {
      if (!indexer.hasIndex(name)) indexer.addIndexers({ [name]: valuesOf });
      else if (indexer.getIndexers()[name] !== valuesOf)
        throw new TypeError(`${resource.kind} has an index named ${name} with another function`);
    }
  }

  /**
   * Returns the informers that see an object, of whole objects and of metadata, if they see all objects of its namespace.
   */
  informersOf(resource: Resource, namespace: string): readonly SharedInformer<KubernetesObject>[] {
    if (this.#hasSelectors(resource)) return [];
    const isOne = this.#namespaces.length === 0 || resource.scope === 'Cluster';
    const index = isOne ? 0 : this.#namespaces.indexOf(namespace);
    return [wholeKeyOf(resource), metadataKeyOf(resource)].flatMap(
      (key) => this.#cached.get(key)?.informers[index] ?? [],
    );
  }

  /**
   * Returns a reader. Throws Error for a kind that no controller of the manager watches, and TypeError when its
   * resource is cached with another kind or scope.
   */
  reader<T extends KubernetesObject>(resource: Resource<T>): CacheReader<T> {
    requireResource(resource, 'a cache');
    const informers = this.#present(resource);
    if (informers === undefined) throw new Error(this.#whyNotCached(resource));
    const all = <R>(read: (informer: SharedInformer<T>) => readonly R[]): readonly R[] =>
      informers.length === 1 && informers[0] !== undefined ? read(informers[0]) : informers.flatMap(read);
    return {
      get: (target) => {
        requireTarget(target);
        const { namespace = '', name } = target;
        const key = objectKey(namespace, name);
        return informers.map((informer) => informer.indexer.getByKey(key)).find((object) => object !== undefined);
      },
      list: (options = {}) => {
        requireSelection(options);
        const { namespace = '', labelSelector = '' } = options;
        const selector = parseLabelSelector(labelSelector);
        return all(({ lister }) => lister.namespace(namespace).list(selector));
      },
      byIndex: (index, value) => {
        requireString(index, 'the name of an index');
        requireString(value, `the value of the index ${index}`);
        return all(({ indexer }) => indexer.byIndex(index, value));
      },
    };
  }

  /** Yields each informer with its kind, and with its namespace where only some are watched. */
  *all(): Generator<CachedInformer, void, undefined> {
    for (const { kind, informers } of this.#cached.values())
      for (const [index, informer] of informers.entries())
        yield { kind, informer, namespace: kind.scope === 'Cluster' ? undefined : this.#namespaces[index] };
  }

  /** Returns, by "plural.group", the problem of each informer that has not synced or does not follow; empty = none. */
  problems(): ReadonlyMap<string, string> {
    const problems = new Map<string, string>();
    for (const [key, { informers }] of this.#cached) {
      const bad = informers.find((informer) => !isFilled(informer));
      if (bad !== undefined) problems.set(key, bad.hasSynced ? bad.status.phase : 'not synced');
    }
    return problems;
  }

  /** Number of kinds; kinds cached as metadata count separately. */
  get size(): number {
    return this.#cached.size;
  }

  /** Returns the existing kinds, starting at this position in the order in which they were added. */
  kinds(first = 0): CachedKinds {
    return new CachedKinds([...this.#cached.values()].slice(first));
  }

  /**
   * Reports why a kind cannot be listed or watched, once per reason until it works again, including kinds added later. Call it once, before
   * the start.
   */
  followProblems(follower: ProblemFollower): void {
    this.#follower = follower;
    for (const cached of this.#cached.values()) followProblemsOf(cached, follower);
  }

  /** Starts the informers that do not run yet. */
  start(): void {
    for (const factory of this.#factories) factory.start();
  }

  #whyNotCached(resource: Resource): string {
    const isOther = this.#cached.has(isMetadataOnly(resource) ? wholeKeyOf(resource) : metadataKeyOf(resource));
    if (!isOther) return `${resource.kind} is not cached: name it with owns(), watches() or index() of a controller`;
    return isMetadataOnly(resource)
      ? `the metadata of ${resource.kind} is not cached alone: read it with cache(${resource.kind})`
      : `only the metadata of ${resource.kind} is cached: read it with cache(metadataOnly(${resource.kind}))`;
  }

  /** A resource that differs from the first one would silently get objects of that kind. */
  #present<T extends KubernetesObject>(resource: Resource<T>): readonly SharedInformer<T>[] | undefined {
    const cached = this.#cached.get(keyOf(resource));
    if (cached === undefined) return undefined;
    const { kind, scope } = cached.kind;
    if (kind !== resource.kind || scope !== resource.scope)
      throw new TypeError(
        `${keyOf(resource)} is shared as ${kind} (${scope}): it cannot be ${resource.kind} (${resource.scope}) too`,
      );
    return cached.informers as unknown as readonly SharedInformer<T>[];
  }

  /** Idempotent. */
  async close(): Promise<void> {
    await Promise.all(this.#factories.map((factory) => factory.close()));
  }
}

function followProblemsOf({ kind, informers }: CachedKind, { textOf, tell }: ProblemFollower): void {
  const told = new Set<string>();
  for (const informer of informers)
    informer.status$.subscribe(({ phase, error }) => {
      if (phase === 'live') told.clear();
      // A watch ended, perhaps with its server; the next attempt shows the cause.
      if (error === undefined || phase === 'stale') return;
      const text = textOf({ kind, error });
      if (!told.has(text)) tell(text);
      told.add(text);
    });
}

/** Throws TypeError, because a text without these members would find nothing. */
function requireTarget(target: unknown): void {
  const { namespace = '', name } = (target ?? {}) as Partial<ObjectTarget>;
  if (typeof name !== 'string' || typeof namespace !== 'string')
    throw new TypeError(`get() takes { namespace, name }, not ${inspect(target)}`);
}

/** Throws TypeError, because an unknown option would be ignored and everything would be selected. */
function requireSelection(options: unknown): void {
  const isObject = typeof options === 'object' && options !== null;
  if (!isObject || Object.keys(options).some((name) => name !== 'namespace' && name !== 'labelSelector'))
    throw new TypeError(`list() takes { namespace, labelSelector }, not ${inspect(options)}`);
  for (const [name, value] of Object.entries(options)) if (value !== undefined) requireString(value, name);
}

const wholeKeyOf = ({ plural, version, group }: Resource): string =>
  `${plural}.${version}${group === '' ? '' : `.${group}`}`;
const metadataKeyOf = (resource: Resource): string => `${wholeKeyOf(resource)} metadata`;
const keyOf = (resource: Resource): string =>
  isMetadataOnly(resource) ? metadataKeyOf(resource) : wholeKeyOf(resource);
