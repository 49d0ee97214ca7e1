// PreparedObjects creates the objects with which a new store begins from facts that hold them as an earlier create made them, so that a
// server starts sooner. Used by control-plane/first-objects. See docs/decisions/0047-prepared-first-objects.md.
import {
  type DeepReadonly,
  type KubernetesObject,
  metaNamespaceKey,
  type Resource,
  type ResourceClient,
  type UnstructuredObject,
  type WriteOptions,
} from '@kapstan/api';
import type { ResourceCatalog } from '@kapstan/apiserver';
import { firstObjectFacts } from '@kapstan/kinds/facts';

/** Creates the server's own objects. */
export type ObjectCreator = Pick<ResourceClient, 'create'>;

/** Writers of the server's own objects: the creator makes missing ones, the client does all other writes. */
export interface OwnObjectWriters {
  readonly client: ResourceClient;
  readonly creator: ObjectCreator;
}

/**
 * The means by which {@link PreparedObjects} creates: the stores of the catalog, and the client for all other objects.
 */
export interface PreparedObjectsParts {
  readonly client: ResourceClient;
  readonly catalog: ResourceCatalog;
}

/** Creates objects that are not prepared through the client. */
export class PreparedObjects implements ObjectCreator {
  readonly #parts: PreparedObjectsParts;
  readonly #prepared = new Map<string, DeepReadonly<UnstructuredObject>>();

  constructor(parts: PreparedObjectsParts) {
    this.#parts = parts;
    for (const [kind, objects] of Object.entries(firstObjectFacts())) {
      for (const object of objects) this.#prepared.set(keyOf(kind, object), object as UnstructuredObject);
    }
  }

  /** Returns the stored object. The caller must not change a prepared one. */
  async create<T extends KubernetesObject>(kind: Resource<T>, object: T, options?: WriteOptions): Promise<T> {
    const { client, catalog } = this.#parts;
    const prepared = this.#prepared.get(keyOf(kind.kind, object));
    const store = catalog.find(kind.group, kind.version, kind.plural)?.store;
    if (prepared === undefined || store?.createPrepared === undefined) return client.create(kind, object, options);
    return (await store.createPrepared(prepared)).object as unknown as T;
  }
}

function keyOf(kind: string, object: DeepReadonly<KubernetesObject>): string {
  return `${kind}/${metaNamespaceKey(object)}`;
}
