// DryRunStorage does everything that a write does except writing (dryRun=All). It wraps any Storage. Source: apiserver
// registry/generic/registry/dryrun.go.
import { deepCopy, type KubernetesObject, type Revision } from '@kapstan/api';
import { copyInSlices, formatRevision, stringifyInSlices } from '@kapstan/api/internal';
import { StorageError } from './errors/storage-error.ts';
import { checkPreconditions } from './preconditions.ts';
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
import { jsonEncoding, Stored } from './stored.ts';
import { plainStatusError, revisionOf } from './versioner.ts';
import { largeObjectBytes, runInTurns } from './work-turns.ts';

/**
 * Passes all reads through, including the optional ones. Checks writes as the wrapped storage would, then answers
 * without writing.
 */
export class DryRunStorage<T extends KubernetesObject> implements Required<Storage<T>> {
  readonly #storage: Storage<T>;
  readonly #keyPrefix: string;

  /** `keyPrefix` ("/registry") is left out of the keys in precondition errors, as kube-apiserver does in a dry run. */
  constructor(storage: Storage<T>, options: { readonly keyPrefix?: string } = {}) {
    this.#storage = storage;
    this.#keyPrefix = options.keyPrefix ?? '';
  }

  isNewest(known: Stored<T>, options?: StorageCallOptions): boolean {
    return this.#storage.isNewest?.(known, options) === true;
  }

  #shown(key: string): string {
    return key.startsWith(`${this.#keyPrefix}/`) ? key.slice(this.#keyPrefix.length) : key;
  }

  /** Returns the object without a resourceVersion, since nothing was stored. */
  async create(key: string, object: T, options: StorageCreateOptions = {}): Promise<Stored<T>> {
    if (revisionOf(object) !== 0) throw plainStatusError('resourceVersion should not be set on objects to be created');
    if ((await this.#storage.get(key)) !== undefined) throw new StorageError({ code: 'KeyExists', key });
    return storedAs(key, 0 as Revision, { object, ...options });
  }

  /** Returns the object that would have been deleted, at its present version. */
  async delete(key: string, options: StorageDeleteOptions<T> = {}): Promise<Stored<T>> {
    const stored = await this.#storage.get(key);
    if (stored === undefined) throw new StorageError({ code: 'KeyNotFound', key });
    checkPreconditions(this.#shown(key), options.preconditions, stored.object);
    await options.validateDeletion?.(stored.object);
    return stored;
  }

  /** Lets the wrapped storage decide whether the object is corrupt, and stops just before it is removed. */
  async deleteUnreadable(key: string, options: UnreadableDeleteOptions = {}): Promise<Revision> {
    const stop = new Error('dry run');
    const validateDeletion = async (): Promise<never> => {
      await options.validateDeletion?.();
      throw stop;
    };
    try {
      return await this.#storage.deleteUnreadable(key, { ...options, validateDeletion });
    } catch (error) {
      if (error !== stop) throw error;
      return 0 as Revision;
    }
  }

  /** Returns the updated object, at the version that it had before the update. */
  async guaranteedUpdate(
    key: string,
    tryUpdate: TryUpdate<T>,
    options: GuaranteedUpdateOptions<T> = {},
  ): Promise<Stored<T>> {
    const stored = await this.#storage.get(key);
    if (stored === undefined && options.ignoreNotFound !== true) throw new StorageError({ code: 'KeyNotFound', key });
    checkPreconditions(this.#shown(key), options.preconditions, stored?.object);
    const revision = stored?.revision ?? (0 as Revision);
    if (stored === undefined || stored.storedBytes < largeObjectBytes) {
      const copy = stored === undefined ? undefined : (deepCopy(stored.object) as T);
      return storedAs(key, revision, await tryUpdate(copy, { ttlSeconds: 0, revision }));
    }
    await stored.restore();
    const copy = (await runInTurns(copyInSlices(stored.object), options.signal)) as T;
    return storedAs(key, revision, await tryUpdate(copy, { ttlSeconds: 0, revision, isLarge: true }));
  }

  get(key: string, options?: StorageGetOptions<T>): Promise<Stored<T> | undefined> {
    return this.#storage.get(key, options);
  }

  getList(key: string, options: StorageListOptions<T>): Promise<StoredList<T>> {
    return this.#storage.getList(key, options);
  }

  watch(key: string, options: StorageWatchOptions<T>, sink: StorageWatchSink<T>): StorageWatch {
    return this.#storage.watch(key, options, sink);
  }

  stats(): Promise<StorageStats> {
    return this.#storage.stats();
  }

  currentResourceVersion(): Promise<Revision> {
    return this.#storage.currentResourceVersion();
  }

  readiness(): Error | undefined {
    return this.#storage.readiness();
  }

  requestWatchProgress(): Promise<void> {
    return this.#storage.requestWatchProgress();
  }

  get supportsProgressRequests(): boolean {
    return this.#storage.supportsProgressRequests;
  }

  compactRevision(): Revision {
    return this.#storage.compactRevision();
  }

  /** Leaves the wrapped storage open; its owner closes it. */
  async close(): Promise<void> {
    return Promise.resolve();
  }
}

async function storedAs<T extends KubernetesObject>(
  key: string,
  revision: Revision,
  { object, isLarge }: { readonly object: T; readonly isLarge?: boolean },
): Promise<Stored<T>> {
  const copy = isLarge === true ? await runInTurns(copyInSlices(object)) : deepCopy(object);
  const { resourceVersion: _old, ...meta } = copy.metadata ?? {};
  copy.metadata = revision === 0 ? meta : { ...meta, resourceVersion: formatRevision(revision) };
  const stored = new Stored<T>(key, revision, copy as Stored<T>['object']);
  // The engine holds no bytes of a dry run, so the answer's JSON is made from the object.
  if (isLarge === true)
    stored.rememberEncoded(jsonEncoding.name, encoder.encode(await runInTurns(stringifyInSlices(copy))));
  return stored;
}

const encoder = new TextEncoder();
