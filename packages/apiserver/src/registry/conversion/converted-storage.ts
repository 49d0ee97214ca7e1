// ConvertedStorage: objects of a kind in one version, over a storage that has them as stored. The cache below never
// waits for a conversion; only a reader of this version does. Made by resource-stack.ts. Source:
// apiextensions-apiserver crdConversionRESTOptionsGetter, which converts below the cache. Decision 0026.
import type { Revision, UnstructuredObject } from '@kapstan/api';
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
  Stored,
  StoredList,
  TryUpdate,
  UnreadableDeleteOptions,
} from '@kapstan/storage';
import type { ConversionContext, ObjectConversion } from '../definition/object-conversion.ts';
import { listConverted } from './converted-list.ts';
import { ConvertedObjects } from './converted-objects.ts';
import { ConvertedWatch } from './converted-watch.ts';

type StoredObject = Stored<UnstructuredObject>;

export interface ConvertedStorageOptions {
  /** Storage with the objects in the versions in which they were stored. Its owner closes it. */
  readonly base: Storage<UnstructuredObject>;
  readonly conversion: ObjectConversion;
  /** The version of this storage's objects. */
  readonly served: string;
  /** The version in which new states are stored. */
  readonly stored: string;
  readonly freeze?: boolean;
}

/**
 * Has no `isNewest`: a read converts anew, and the conversion may give another object than before. The cache, which asks for it, is below.
 */
export class ConvertedStorage implements Required<Omit<Storage<UnstructuredObject>, 'isNewest'>> {
  readonly #base: Storage<UnstructuredObject>;
  readonly #conversion: ObjectConversion;
  readonly #served: string;
  readonly #stored: string;
  readonly #objects: ConvertedObjects;

  constructor({ base, conversion, served, stored, freeze = false }: ConvertedStorageOptions) {
    this.#base = base;
    this.#conversion = conversion;
    this.#served = served;
    this.#stored = stored;
    this.#objects = new ConvertedObjects({ conversion, apiVersion: served, freeze });
  }

  async create(key: string, object: UnstructuredObject, options?: StorageCreateOptions): Promise<StoredObject> {
    const stored = await this.#base.create(key, await this.#one(object, this.#stored, options), options);
    return this.#objects.fresh(stored, options);
  }

  async get(key: string, options: StorageGetOptions<UnstructuredObject> = {}): Promise<StoredObject | undefined> {
    // The caller's object was converted, so the storage below has never seen it.
    const { known: _converted, ...rest } = options;
    const stored = await this.#base.get(key, rest);
    if (stored === undefined) return undefined;
    if ((options.resourceVersion ?? '') === '') return this.#objects.fresh(stored, options);
    return this.#objects.known(stored) ?? (await this.#objects.all([stored], options))[0];
  }

  getList(key: string, options: StorageListOptions<UnstructuredObject>): Promise<StoredList<UnstructuredObject>> {
    return listConverted({ base: this.#base, objects: this.#objects }, key, options);
  }

  async delete(key: string, options: StorageDeleteOptions<UnstructuredObject> = {}): Promise<StoredObject> {
    const { validateDeletion, cachedExisting: _converted, ...rest } = options;
    const validate =
      validateDeletion &&
      (async (object: StoredObject['object']) => validateDeletion(await this.#one(object, this.#served, options)));
    const stored = await this.#base.delete(key, { ...rest, validateDeletion: validate });
    return this.#objects.fresh(stored, options);
  }

  deleteUnreadable(key: string, options?: UnreadableDeleteOptions): Promise<Revision> {
    return this.#base.deleteUnreadable(key, options);
  }

  async guaranteedUpdate(
    key: string,
    tryUpdate: TryUpdate<UnstructuredObject>,
    options: GuaranteedUpdateOptions<UnstructuredObject> = {},
  ): Promise<StoredObject> {
    const { cachedExisting: _converted, ...rest } = options;
    const converting: TryUpdate<UnstructuredObject> = async (existing, meta) => {
      const served = existing && (await this.#one(existing, this.#served, options));
      const result = await tryUpdate(served, meta);
      return { ...result, object: await this.#one(result.object, this.#stored, options) };
    };
    return this.#objects.fresh(await this.#base.guaranteedUpdate(key, converting, rest), options);
  }

  watch(
    key: string,
    options: StorageWatchOptions<UnstructuredObject>,
    sink: StorageWatchSink<UnstructuredObject>,
  ): StorageWatch {
    const watch = new ConvertedWatch({ objects: this.#objects, predicate: options.predicate, sink });
    watch.start(this.#base, key, options);
    return watch;
  }

  stats(): Promise<StorageStats> {
    return this.#base.stats();
  }

  currentResourceVersion(): Promise<Revision> {
    return this.#base.currentResourceVersion();
  }

  readiness(): Error | undefined {
    return this.#base.readiness();
  }

  requestWatchProgress(): Promise<void> {
    return this.#base.requestWatchProgress();
  }

  get supportsProgressRequests(): boolean {
    return this.#base.supportsProgressRequests;
  }

  compactRevision(): Revision {
    return this.#base.compactRevision();
  }

  /** Leaves the storage below open; its owner closes it. */
  async close(): Promise<void> {
    return Promise.resolve();
  }

  async #one(
    object: StoredObject['object'],
    apiVersion: string,
    context: ConversionContext | undefined,
  ): Promise<UnstructuredObject> {
    if (object.apiVersion === apiVersion) return object as UnstructuredObject;
    const [converted] = await this.#conversion.convert([object], apiVersion, context);
    return converted as UnstructuredObject;
  }
}
