// ObjectReader lets the server itself read objects, from the cache, which may lag, or from the store. Admission
// plug-ins and authenticators use it to read from the catalog's stores.

import { type DeepReadonly, isNotFound, type LabelSelector, type UnstructuredObject } from '@kapstan/api';
import type { GroupVersionResource } from '@kapstan/api/internal';
import type { Stored } from '@kapstan/storage';
import type { ResourceCatalog } from '../definition/catalog.ts';
import { serverContext } from '../definition/server-context.ts';
import { pathSegmentErrors } from '../meta/names.ts';

/** 'cached': any state that was true once. 'live': the present state. */
export type ReadFreshness = 'cached' | 'live';

/** Reads objects of any kind of a catalog, from the watch cache where there is one. */
export class ObjectReader {
  readonly #catalog: ResourceCatalog;

  constructor(catalog: ResourceCatalog) {
    this.#catalog = catalog;
  }

  isServed({ group, version, resource }: GroupVersionResource): boolean {
    return this.#catalog.find(group, version, resource) !== undefined;
  }

  /**
   * Returns undefined when there is no such object, or the name is invalid. `namespace` is "" for cluster-scoped
   * objects.
   */
  async get(
    resource: GroupVersionResource,
    { namespace, name }: { readonly namespace: string; readonly name: string },
    freshness: ReadFreshness,
  ): Promise<DeepReadonly<UnstructuredObject> | undefined> {
    const served = this.#catalog.find(resource.group, resource.version, resource.resource);
    if (served === undefined || pathSegmentErrors(name).length > 0) return undefined;
    const version = freshness === 'cached' ? { resourceVersion: '0' } : {};
    const { store } = served;
    try {
      // `find` makes no error for a missing object: the error's stack costs more CPU than the read.
      const found = await (store.find ?? store.get).call(store, serverContext(namespace), name, version);
      return found?.object;
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  /**
   * Returns all objects of a cluster-scoped resource from the cache. They are few and read again and again, so they
   * stay parsed.
   */
  async list(resource: GroupVersionResource): Promise<readonly DeepReadonly<UnstructuredObject>[]> {
    const served = this.#catalog.find(resource.group, resource.version, resource.resource);
    if (served === undefined) return [];
    const list = await served.store.list(serverContext(''), { resourceVersion: '0' });
    return list.items.map((item) => item.object);
  }

  /**
   * Returns the objects of a namespace from the cache. They may be many, so read each with `view`, which does not keep
   * it parsed.
   */
  async listIn(resource: GroupVersionResource, namespace: string): Promise<readonly Stored<UnstructuredObject>[]> {
    const served = this.#catalog.find(resource.group, resource.version, resource.resource);
    if (served === undefined) return [];
    return (await served.store.list(serverContext(namespace), { resourceVersion: '0' })).items;
  }

  /** Returns the selected objects of a namespace from the cache, in the order of their names. */
  async select(
    resource: GroupVersionResource,
    namespace: string,
    selector: LabelSelector,
  ): Promise<readonly DeepReadonly<UnstructuredObject>[]> {
    const served = this.#catalog.find(resource.group, resource.version, resource.resource);
    if (served === undefined) return [];
    const request = { resourceVersion: '0', labelSelector: selector.toString() };
    const list = await served.store.list(serverContext(namespace), request);
    return list.items.map((item) => item.object);
  }
}
