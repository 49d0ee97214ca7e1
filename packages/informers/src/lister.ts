// Reads from the cache in the shape of the API: by selector, by namespace, by name with 404. Over an Indexer.

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

/** Reads one resource from a cache. Objects are shared: read-only (invariant I6). Nothing here talks to a server. */
export class Lister<T extends KubernetesObject> {
  readonly #indexer: Indexer<T>;
  readonly #resource: Pick<Resource, 'group' | 'plural'>;

  constructor(indexer: Indexer<T>, resource: Pick<Resource, 'group' | 'plural'>) {
    this.#indexer = indexer;
    this.#resource = resource;
  }

  /**
   * All objects that the selector matches; a text is parsed in each call. Default and "": all. Throws TypeError for a text that is no
   * selector, and for what is neither.
   */
  list(selector: LabelSelector | string = everyLabel): readonly DeepReadonly<T>[] {
    return select(this.#indexer.list(), selector);
  }

  /** A cluster-scoped object, or undefined. */
  find(name: string): DeepReadonly<T> | undefined {
    return this.#indexer.getByKey(objectKey('', name));
  }

  /** A cluster-scoped object. Throws StatusError 404. */
  get(name: string): DeepReadonly<T> {
    return this.find(name) ?? this.#notFound(name);
  }

  /** The objects of one namespace; "" = of all. */
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

export interface NamespaceLister<T extends KubernetesObject> {
  /** As {@link Lister.list}. */
  list(selector?: LabelSelector | string): readonly DeepReadonly<T>[];
  /** The object, or undefined. */
  find(name: string): DeepReadonly<T> | undefined;
  /** The object. Throws StatusError 404. */
  get(name: string): DeepReadonly<T>;
}

function select<T extends KubernetesObject>(
  objects: readonly DeepReadonly<T>[],
  given: LabelSelector | string,
): readonly DeepReadonly<T>[] {
  // Before the objects are looked at: an empty cache must not hide what is wrong.
  const selector = typeof given === 'string' ? parseLabelSelector(given) : given;
  requireFunctions(selector, 'a label selector, such as "app=web",', ['matches']);
  if (selector.isEmpty) return objects;
  if (selector.isNothing) return [];
  return objects.filter((object) => selector.matches((object as KubernetesObject).metadata?.labels ?? {}));
}
