// What a factory of shared informers, and a request for one of them, is asked to do. Used by shared-informer-factory.ts.
import type { KubernetesObject, Resource, SelectionOptions } from '@kapstan/api';
import type { Transform } from './fifo.ts';
import type { Indexers } from './indexer.ts';
import type { SharedInformerOptions } from './shared-informer-options.ts';

type CommonOptions = Omit<
  SharedInformerOptions<KubernetesObject>,
  'resource' | 'name' | 'indexers' | 'transform' | 'resyncMs' | 'labelSelector' | 'fieldSelector'
>;

export interface SharedInformerFactoryOptions extends CommonOptions {
  /** Default resync period, in milliseconds. 0 (default) = none. */
  readonly resyncMs?: number;
  /** Resync periods of single resources, in milliseconds. */
  readonly customResyncMs?: Iterable<readonly [Resource, number]>;
  /** Namespace that all informers look at. Absent or "" = all. */
  readonly namespace?: string;
  /** Selectors of an informer's lists and watches. Default: everything. */
  readonly tweakListOptions?: (resource: Resource) => Omit<SelectionOptions, 'namespace'>;
  /** Applied to every informer that has none of its own. */
  readonly transform?: Transform<KubernetesObject>;
  /**
   * Whether a kind is still served: `(kind) => client.discovery.serves(kind)`. Asked when a kind that was there, since its
   * informer has synced, is answered with 404. False: its informers are closed and forgotten, with a last status that says so;
   * the next request makes new ones. What the cache holds then is told to nobody as deleted, unless the watch said so. A rejection
   * is told to the logger, and it is asked again after the next 404. Default: informers wait for their kind to come back.
   */
  readonly isServed?: (resource: Resource) => Promise<boolean>;
}

/** What one informer adds to the factory's options. Only the first request for a resource decides: what differs in a later one is warned of once. Indexers are added by each. */
export interface InformerOptions<T extends KubernetesObject> {
  /** Added to those that the informer has; a name that it has keeps its function. */
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
