// Options of a shared informer. Used by shared-informer.ts.
import type { KubernetesObject, Logger, Resource } from '@kapstan/api';
import type { Transform } from './fifo/fifo.ts';
import type { ObjectChange } from './handlers/object-change.ts';
import type { InformerName } from './informer-metrics.ts';
import type { ReflectorOptions } from './reflector/reflector-options.ts';
import type { Indexers } from './store/indexer.ts';
import type { MutationDetection } from './store/mutation-detector.ts';

/** Options of a {@link SharedInformer}. */
export interface SharedInformerOptions<T extends KubernetesObject>
  extends Omit<ReflectorOptions, 'name' | 'expected' | 'shouldResync' | 'onWarning' | 'onStoreError'> {
  /**
   * The resource that is listed; it names errors and warnings. With version and kind, events of objects of another kind are reported and
   * ignored. Default: the ListerWatcher's resource, or an unnamed one.
   */
  readonly resource?: Pick<Resource, 'group' | 'plural'> & Partial<Pick<Resource, 'version' | 'kind'>>;
  /**
   * Name of the listed objects, for warnings and `onHandlerError`. Default: the resource's, such as "pods" or "deployments.apps".
   */
  readonly name?: string;
  /** Indexes in addition to `namespace`, which always exists. */
  readonly indexers?: Indexers<T>;
  /** Default resync period of handlers, and the interval at which the informer checks for due ones, in milliseconds. 0 (default) = none. */
  readonly resyncMs?: number;
  /** Turns a received object into the cached one; usually drops fields. */
  readonly transform?: Transform<T> | undefined;
  /** `delta` (default): collected by object, bounded. `inOrder`: every change, as in client-go since 1.36. */
  readonly fifo?: 'delta' | 'inOrder';
  /**
   * True = an object that could not be cached because an index function threw is queued again and tried once a second until it succeeds.
   * Until then it is not cached, nobody receives it, and `indexer.resourceVersion` does not advance. Its newest state counts. Each attempt
   * is reported to `onHandlerError`. Requires `fifo: 'delta'`. Default false: the object is cached and only missing in that index. Errors
   * of handlers are not retried. Source: RetryOnError of client-go's controller Config, until it was removed.
   */
  readonly retryOnError?: boolean;
  /** Receives trouble that no callback of these options handles: see `onWatchError`, `onHandlerError`. Default: process warnings. */
  readonly logger?: Logger;
  /** Name under which the informer shows its metrics: `new InformerMetrics().named('my-program')`. Default: it shows none. */
  readonly metrics?: InformerName | undefined;
  /** Selects whether changes of cached objects are detected. Default 'off'. */
  readonly mutationDetection?: MutationDetection;
  /**
   * Called with errors of handlers, of index functions, and of the transform for an event of the watch. `change` is the change that the
   * handler received; `name` names the listed objects ("pods", "deployments.apps"). Default: a warning with name, change, key and stack,
   * see `logger`. Errors never stop the informer (I8). When an index function fails, the object is cached and delivered, but missing in
   * that index. When the transform fails for an event, the cached object stays unchanged until its next change or a list; a deletion is
   * still a deletion (`isFinalStateUnknown`, with the last cached state). A transform that throws for one object of a list fails the whole
   * list: that is reported to `onWatchError`, and the list is retried with backoff, so an informer whose transform always throws never
   * syncs, as in client-go.
   */
  readonly onHandlerError?: (error: unknown, change: ObjectChange<T> | undefined, name: string) => void;
}
