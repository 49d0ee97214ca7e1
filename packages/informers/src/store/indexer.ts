// The local cache: objects by key, with indexes. Written by the shared informer, read by listers. Source: client-go
// tools/cache/thread_safe_store.go. Methods are synchronous: one turn is one critical section.
import { inspect } from 'node:util';
import type { DeepReadonly, KubernetesObject, ObjectKey } from '@kapstan/api';
import { immediate } from '@kapstan/api/internal';
import {
  type DeletedFinalStateUnknown,
  deletionHandlingKey,
  incomingVersion,
} from '../fifo/deleted-final-state-unknown.ts';
import { requireIndexers } from '../guards/informer-checks.ts';

/**
 * Returns the values under which an object is found: none, one or several; undefined counts as none. It should not throw, see
 * {@link IndexerOptions}.
 */
export type IndexFunction<T extends KubernetesObject> = (object: DeepReadonly<T>) => readonly (string | undefined)[];
/** Index functions by the name of their index. */
export type Indexers<T extends KubernetesObject> = Readonly<Record<string, IndexFunction<T>>>;

/** Name of the index by namespace; its values are `metadata.namespace`, "" for cluster-scoped objects. */
export const namespaceIndex = 'namespace';

/**
 * Returns the only value of {@link namespaceIndex}: the namespace, "" for cluster-scoped objects. Throws TypeError without metadata.
 */
export function metaNamespaceIndex(object: DeepReadonly<KubernetesObject>): readonly string[] {
  if (object.metadata === undefined) throw new TypeError('object has no meta: metadata is absent');
  return [object.metadata.namespace ?? ''];
}

/** Adds {@link namespaceIndex}, which listers read. Throws TypeError when another function has its name. */
export function withNamespaceIndex<T extends KubernetesObject>(indexers: Indexers<T> = {}): Indexers<T> {
  const { [namespaceIndex]: own = metaNamespaceIndex } = indexers;
  if (own !== metaNamespaceIndex)
    throw new TypeError(
      `indexer conflict: {${namespaceIndex}}: this index always exists because listers read it; use another name`,
    );
  return { [namespaceIndex]: metaNamespaceIndex, ...indexers };
}

interface NamedFunction<T extends KubernetesObject> {
  readonly name: string;
  readonly valuesOf: IndexFunction<T>;
}

interface Index<T extends KubernetesObject> extends NamedFunction<T> {
  readonly keys: Map<string, Set<ObjectKey>>;
  /** Keys of objects for which the function threw when they were written; no index value leads to them. */
  failed: Set<ObjectKey> | undefined;
}

/** Called with the error of an index function for the object of a key. Returns the values to use, or throws. */
type OnIndexError<T extends KubernetesObject> = (error: Error, index: Index<T>, key: ObjectKey) => readonly string[];

/** Options of an {@link Indexer}. */
export interface IndexerOptions {
  /**
   * Called with the error of an index function for an object being written. The object is stored nevertheless and found by its key and in
   * the other indexes, but not in that one. Default: the write throws and changes nothing. (client-go panics.)
   */
  readonly onIndexError?: (error: Error) => void;
}

/**
 * Objects are shared by all readers: read-only (invariant I6). A list that was returned does not change.
 *
 * @example
 * ```ts
 * import { connect } from '@kapstan/client';
 * import { SharedInformerFactory } from '@kapstan/informers';
 * import { Pod } from '@kapstan/kinds/core/v1';
 *
 * const factory = new SharedInformerFactory(await connect());
 * const { indexer } = factory.informer(Pod, { indexers: { node: ({ spec }) => [spec?.nodeName] } });
 * factory.start();
 * await factory.waitForCacheSync();
 * console.log(indexer.byIndex('node', 'node-1').length);
 * ```
 */
export class Indexer<T extends KubernetesObject> {
  #objects = new Map<ObjectKey, DeepReadonly<T>>();
  readonly #indexes = new Map<string, Index<T>>();
  #resourceVersion = '';
  #snapshot: readonly DeepReadonly<T>[] | undefined;

  readonly #onIndexError: OnIndexError<T>;
  readonly #onFormerIndexError: OnIndexError<T>;

  constructor(indexers: Indexers<T> = {}, options: IndexerOptions = {}) {
    const tell = options.onIndexError?.bind(options);
    const toNone: OnIndexError<T> = (error) => {
      tell?.(error);
      return untold;
    };
    this.#onIndexError = tell === undefined ? rethrow : toNone;
    // The index function reads more than the object, so an earlier success says nothing about this call.
    this.#onFormerIndexError = tell === undefined ? rethrow : (_error, index, key) => valuesWith(index, key);
    this.addIndexers(indexers);
  }

  /** Number of objects in the cache. */
  get size(): number {
    return this.#objects.size;
  }

  /** Version of the last write, replace or bookmark; "" before. Source: LastStoreSyncResourceVersion. */
  get resourceVersion(): string {
    return this.#resourceVersion;
  }

  // ---- Writing ----

  /**
   * Stores or replaces an object. `resourceVersion`, by default the object's, becomes the version of the cache. Throws TypeError for an
   * object without metadata; nothing has changed then.
   */
  add(object: DeepReadonly<T>, resourceVersion: string | undefined = incomingVersion(object)): void {
    this.put(deletionHandlingKey(object), object, resourceVersion);
  }

  /** Like {@link add}, for callers that know the key. Returns the object that was stored under it before. */
  put(key: ObjectKey, object: DeepReadonly<T>, resourceVersion: string | undefined): DeepReadonly<T> | undefined {
    const before = this.#objects.get(key);
    this.#move(key, before, object);
    this.#objects.set(key, object);
    this.#snapshot = undefined;
    this.bookmark(resourceVersion);
    return before;
  }

  /** The same as {@link add}. */
  update(object: DeepReadonly<T>, resourceVersion?: string): void {
    this.add(object, resourceVersion);
  }

  /**
   * Removes an object by its key; an unknown key is not an error. `resourceVersion`: as for {@link add}; a tombstone has none.
   */
  delete(
    object: DeepReadonly<T> | DeletedFinalStateUnknown<T>,
    resourceVersion: string | undefined = incomingVersion(object),
  ): void {
    const key = deletionHandlingKey(object);
    const before = this.#objects.get(key);
    if (before !== undefined) {
      this.#move(key, before, undefined);
      this.#objects.delete(key);
      this.#snapshot = undefined;
    }
    this.bookmark(resourceVersion);
  }

  /**
   * Replaces the contents by these objects, which are all at this version. {@link IndexerOptions} describes what happens when an index
   * function throws.
   */
  // Atomic: contents and every index change together.
  replace(objects: Iterable<DeepReadonly<T>>, resourceVersion: string): void {
    const next = new Map<ObjectKey, DeepReadonly<T>>();
    for (const object of objects) next.set(deletionHandlingKey(object), object);
    const rebuilt = [...this.#indexes.values()].map((index) => buildIndex(index, next, this.#onIndexError));
    for (const index of rebuilt) this.#indexes.set(index.name, index);
    this.#objects = next;
    this.#snapshot = undefined;
    this.#resourceVersion = resourceVersion;
  }

  /** Sets the version of the contents. "" and undefined are ignored. */
  bookmark(resourceVersion: string | undefined): void {
    if (resourceVersion !== undefined && resourceVersion !== '') this.#resourceVersion = resourceVersion;
  }

  // ---- Reading ----

  /** Returns the object of a key, or undefined. */
  getByKey(key: ObjectKey): DeepReadonly<T> | undefined {
    return this.#objects.get(key);
  }

  /** Returns the stored object with the same key as this one. */
  get(object: DeepReadonly<T> | DeletedFinalStateUnknown<T>): DeepReadonly<T> | undefined {
    return this.#objects.get(deletionHandlingKey(object));
  }

  /** Returns all objects at this moment, in no order; the same array until something changes. */
  list(): readonly DeepReadonly<T>[] {
    this.#snapshot ??= Object.freeze([...this.#objects.values()]);
    return this.#snapshot;
  }

  /** Returns the keys of all objects, in no order. */
  listKeys(): ObjectKey[] {
    return [...this.#objects.keys()];
  }

  /** Returns the objects that share a value with the given one. Throws Error for an unknown index, and when its function throws. */
  index(name: string, object: DeepReadonly<T>): DeepReadonly<T>[] {
    const index = this.#indexNamed(name);
    const keys = new Set<ObjectKey>();
    for (const value of valuesOf(index, object, rethrow)) {
      for (const key of index.keys.get(value) ?? []) keys.add(key);
    }
    return this.#objectsOf(keys);
  }

  /** Returns the objects under one value of an index. Throws Error for an unknown index. */
  byIndex(name: string, value: string): DeepReadonly<T>[] {
    return this.#objectsOf(this.#indexNamed(name).keys.get(value) ?? []);
  }

  /** Returns the keys under one value of an index, sorted. Throws Error for an unknown index. */
  indexKeys(name: string, value: string): ObjectKey[] {
    return [...(this.#indexNamed(name).keys.get(value) ?? [])].sort();
  }

  /** Returns the values of an index that have objects; none for an unknown index. */
  indexValues(name: string): string[] {
    return [...(this.#indexes.get(name)?.keys.keys() ?? [])];
  }

  /** Returns true if an index of this name exists. */
  hasIndex(name: string): boolean {
    return this.#indexes.has(name);
  }

  /** Returns a copy of the functions of all indexes, by name. */
  getIndexers(): Indexers<T> {
    return Object.fromEntries([...this.#indexes].map(([name, index]) => [name, index.valuesOf]));
  }

  /**
   * Adds indexes at any time; stored objects are indexed. Throws Error when a name is taken or a function throws, and TypeError for a value
   * that is not a function; in these cases none is added.
   */
  addIndexers(indexers: Indexers<T>): void {
    requireIndexers(indexers);
    const names = Object.keys(indexers);
    const taken = names.filter((name) => this.#indexes.has(name));
    if (taken.length > 0) throw new Error(`indexer conflict: {${taken.sort().join(', ')}}`);
    const built = Object.entries(indexers).map(([name, valuesOf]) =>
      buildIndex({ name, valuesOf }, this.#objects, rethrow),
    );
    for (const index of built) this.#indexes.set(index.name, index);
  }

  #indexNamed(name: string): Index<T> {
    const index = this.#indexes.get(name);
    if (index === undefined) throw new Error(`Index with name ${name} does not exist`);
    return index;
  }

  #objectsOf(keys: Iterable<ObjectKey>): DeepReadonly<T>[] {
    const objects: DeepReadonly<T>[] = [];
    for (const key of keys) {
      const object = this.#objects.get(key);
      if (object !== undefined) objects.push(object);
    }
    return objects;
  }

  /** Computes all values before it changes anything, so that a failing function leaves every index unchanged. */
  #move(key: ObjectKey, before: DeepReadonly<T> | undefined, after: DeepReadonly<T> | undefined): void {
    let moves: [Index<T>, readonly string[], readonly string[]][] | undefined;
    for (const index of this.#indexes.values()) {
      const isAbsent = before === undefined || index.failed?.has(key) === true;
      const old = isAbsent ? none : valuesOf(index, before, this.#onFormerIndexError);
      const next = after === undefined ? none : valuesOf(index, after, this.#onIndexError);
      if (old.length === 1 && next.length === 1 && old[0] === next[0]) continue;
      moves ??= [];
      moves.push([index, old, next]);
    }
    if (moves === undefined) return;
    for (const [index, old, next] of moves) {
      for (const value of old) removeKey(index.keys, value, key);
      putKey(index, key, next);
    }
  }
}

const none: readonly string[] = [];
/** Marks that the function threw. */
const untold: readonly string[] = [];

function buildIndex<T extends KubernetesObject>(
  { name, valuesOf: fn }: NamedFunction<T>,
  objects: ReadonlyMap<ObjectKey, DeepReadonly<T>>,
  onError: OnIndexError<T>,
): Index<T> {
  const index: Index<T> = { name, valuesOf: fn, keys: new Map(), failed: undefined };
  for (const [key, object] of objects) putKey(index, key, valuesOf(index, object, onError));
  return index;
}

function putKey<T extends KubernetesObject>(index: Index<T>, key: ObjectKey, values: readonly string[]): void {
  for (const value of values) addKey(index.keys, value, key);
  if (values === untold) {
    index.failed ??= new Set();
    index.failed.add(key);
  } else index.failed?.delete(key);
}

/** Returns the values of an object, or the result of `onError` when the function throws. */
function valuesOf<T extends KubernetesObject>(
  index: Index<T>,
  object: DeepReadonly<T>,
  onError: OnIndexError<T>,
): readonly string[] {
  try {
    const values = immediate(index.valuesOf(object), 'the values of an index');
    if (areTexts(values)) return values;
    requireValues(values);
    return values.filter((value) => value !== undefined);
  } catch (cause) {
    const key = deletionHandlingKey(object);
    const names = `key ${JSON.stringify(key)} on index ${JSON.stringify(index.name)}`;
    const why = cause instanceof Error ? cause.message : String(cause);
    return onError(new Error(`unable to calculate an index entry for ${names}: ${why}`, { cause }), index, key);
  }
}

/**
 * Returns the values that lead to a key, found by searching all of them, because an object must not stay under a value that can no longer
 * be computed.
 */
function valuesWith<T extends KubernetesObject>({ keys }: Index<T>, key: ObjectKey): readonly string[] {
  return [...keys].filter(([, found]) => found.has(key)).map(([value]) => value);
}

/** Throws TypeError unless given an array of strings; a plain string would be read letter by letter. */
function requireValues(values: unknown): void {
  if (!Array.isArray(values) || !values.every((value) => typeof value === 'string' || value === undefined))
    throw new TypeError(`an index function must return a list of strings, not ${inspect(values)}`);
}

/** A fast check for the usual case: only strings. */
function areTexts(values: unknown): values is readonly string[] {
  if (!Array.isArray(values)) return false;
  for (const value of values) if (typeof value !== 'string') return false;
  return true;
}

function rethrow(error: Error): never {
  throw error;
}

function addKey(keys: Map<string, Set<ObjectKey>>, value: string, key: ObjectKey): void {
  const set = keys.get(value);
  if (set === undefined) keys.set(value, new Set([key]));
  else set.add(key);
}

/** Removes a key, and its set when that becomes empty, so that unused values do not pile up. */
function removeKey(keys: Map<string, Set<ObjectKey>>, value: string, key: ObjectKey): void {
  const set = keys.get(value);
  set?.delete(key);
  if (set?.size === 0) keys.delete(value);
}
