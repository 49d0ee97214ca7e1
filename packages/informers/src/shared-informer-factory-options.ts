// Options of a factory of shared informers, and of a request for one of them. Used by shared-informer-factory.ts.
import type { KubernetesObject, Resource, SelectionOptions } from '@kapstan/api';
import type { Transform } from './fifo/fifo.ts';
import type { SharedInformerOptions } from './shared-informer-options.ts';
import type { Indexers } from './store/indexer.ts';

type CommonOptions = Omit<
  SharedInformerOptions<KubernetesObject>,
  'resource' | 'name' | 'indexers' | 'transform' | 'resyncMs' | 'labelSelector' | 'fieldSelector'
>;

/** Options of a {@link SharedInformerFactory}, for all its informers. */
export interface SharedInformerFactoryOptions extends CommonOptions {
  /** Default resync period, in milliseconds. 0 (default) = none. */
  readonly resyncMs?: number;
  /** Resync periods of single resources, in milliseconds. */
  readonly customResyncMs?: Iterable<readonly [Resource, number]>;
  /** Namespace of all informers. Absent or "" = all namespaces. */
  readonly namespace?: string;
  /** Returns the selectors of an informer's lists and watches. Default: everything. */
  readonly tweakListOptions?: (resource: Resource) => Omit<SelectionOptions, 'namespace'>;
  /** Applied in every informer without its own transform. */
  readonly transform?: Transform<KubernetesObject>;
  /**
   * Returns whether a kind is still served: `(kind) => client.discovery.serves(kind)`. Called when a kind is answered with 404 although its
   * informer has synced. When it returns false, its informers are closed and forgotten, with a last status that reports this; the next
   * request creates new ones. Objects still in the cache are not reported as deleted, unless the watch did so. A rejection is logged, and
   * the function is called again after the next 404. Default: informers wait for their kind to come back.
   */
  readonly isServed?: (resource: Resource) => Promise<boolean>;
}

/**
 * Options of one informer, in addition to the factory's. Only the first request for a resource decides; a later request with other values
 * causes one warning. Indexers of every request are added.
 */
export interface InformerOptions<T extends KubernetesObject> {
  /** Indexers to add to the informer's own. An existing name keeps its function. */
  readonly indexers?: Indexers<T>;
  /** Resync period, in milliseconds; 0 = none. Default: `customResyncMs` of the factory, then its `resyncMs`. */
  readonly resyncMs?: number;
  /** Default: the factory's. */
  readonly transform?: Transform<T>;
  /** Default: the factory's, and `delta` without one. */
  readonly fifo?: 'delta' | 'inOrder';
  /** Default: the factory's, and false without one. */
  readonly retryOnError?: boolean;
  /** Default: the factory's. */
  readonly onHandlerError?: NonNullable<SharedInformerOptions<T>['onHandlerError']>;
}
