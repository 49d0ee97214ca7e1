// Reads from the cache in the shape of the API: by selector, by namespace, by name with 404. Uses an Indexer.
import {
  type DeepReadonly,
  everyLabel,
  type KubernetesObject,
  type LabelSelector,
  objectKey,
  parseLabelSelector,
  type Resource,
} from '@kapstan/api';
import { notFound } from '@kapstan/api/errors';
import { requireFunctions } from '@kapstan/api/internal';
import { type Indexer, namespaceIndex } from './indexer.ts';

/**
 * Reads one resource from a cache. Objects are shared: read-only (invariant I6). Nothing here contacts a server.
 *
 * @example
 * ```ts
 * import { connect } from '@kapstan/client';
 * import { SharedInformerFactory } from '@kapstan/informers';
 * import { Pod } from '@kapstan/kinds/core/v1';
 *
 * const factory = new SharedInformerFactory(await connect());
 * const { lister } = factory.informer(Pod);
 * factory.start();
 * await factory.waitForCacheSync();
 * console.log(lister.namespace('default').get('web').status?.phase);
 * ```
 */
export class Lister<T extends KubernetesObject> {
  readonly #indexer: Indexer<T>;
  readonly #resource: Pick<Resource, 'group' | 'plural'>;

  constructor(indexer: Indexer<T>, resource: Pick<Resource, 'group' | 'plural'>) {
    this.#indexer = indexer;
    this.#resource = resource;
  }

  /**
   * Returns all objects that the selector matches; a text is parsed in each call. Default and "": all objects. Throws TypeError for a text
   * that is not a selector, and for any other value.
   */
  list(selector: LabelSelector | string = everyLabel): readonly DeepReadonly<T>[] {
    return select(this.#indexer.list(), selector);
  }

  /** Returns a cluster-scoped object, or undefined. */
  find(name: string): DeepReadonly<T> | undefined {
    return this.#indexer.getByKey(objectKey('', name));
  }

  /** Returns a cluster-scoped object. Throws StatusError 404. */
  get(name: string): DeepReadonly<T> {
    return this.find(name) ?? this.#notFound(name);
  }

  /** Returns a lister for the objects of one namespace; "" = all namespaces. */
  namespace(namespace: string): NamespaceLister<T> {
    return {
      list: (selector: LabelSelector | string = everyLabel) => select(this.#inNamespace(namespace), selector),
      find: (name) => this.#indexer.getByKey(objectKey(namespace, name)),
      get: (name) => this.#indexer.getByKey(objectKey(namespace, name)) ?? this.#notFound(name),
    };
  }

  #inNamespace(namespace: string): readonly DeepReadonly<T>[] {
    if (namespace === '') return this.#indexer.list();
    if (this.#indexer.hasIndex(namespaceIndex)) return this.#indexer.byIndex(namespaceIndex, namespace);
    return this.#indexer.list().filter((object) => (object as KubernetesObject).metadata?.namespace === namespace);
  }

  #notFound(name: string): never {
    throw notFound({ group: this.#resource.group, resource: this.#resource.plural }, name);
  }
}

/** Reads the objects of one namespace from a cache. */
export interface NamespaceLister<T extends KubernetesObject> {
  /** See {@link Lister.list}. */
  list(selector?: LabelSelector | string): readonly DeepReadonly<T>[];
  /** Returns the object, or undefined. */
  find(name: string): DeepReadonly<T> | undefined;
  /** Returns the object. Throws StatusError 404. */
  get(name: string): DeepReadonly<T>;
}

function select<T extends KubernetesObject>(
  objects: readonly DeepReadonly<T>[],
  given: LabelSelector | string,
): readonly DeepReadonly<T>[] {
  // The selector is checked before the objects, so that an empty cache does not hide an invalid selector.
  const selector = typeof given === 'string' ? parseLabelSelector(given) : given;
  requireFunctions(selector, 'a label selector, such as "app=web",', ['matches']);
  if (selector.isEmpty) return objects;
  if (selector.isNothing) return [];
  return objects.filter((object) => selector.matches((object as KubernetesObject).metadata?.labels ?? {}));
}
