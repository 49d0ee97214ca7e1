// What a shared informer and its handlers are asked to do, and what stands for a handler. Used by shared-informer.ts.
import type { KubernetesObject, Logger, Resource } from '@kapstan/api';
import type { Transform } from './fifo.ts';
import type { Indexers } from './indexer.ts';
import type { MutationDetection } from './mutation-detector.ts';
import type { ObjectChange } from './object-change.ts';
import type { ReflectorOptions } from './reflector-options.ts';
import type { Syncable } from './sync-signal.ts';

export interface SharedInformerOptions<T extends KubernetesObject>
  extends Omit<ReflectorOptions, 'name' | 'expected' | 'shouldResync' | 'onWarning' | 'onStoreError'> {
  /**
   * What is listed: names it in errors and warnings. With version and kind, events of objects of another kind are reported
   * and left out. Default: that of the ListerWatcher, and where it does not say a nameless one.
   */
  readonly resource?: Pick<Resource, 'group' | 'plural'> & Partial<Pick<Resource, 'version' | 'kind'>>;
  /** What is listed, for warnings and `onHandlerError`. Default: that of the resource: "pods", "deployments.apps". */
  readonly name?: string;
  /** Indexes beside `namespace`, which is always there. */
  readonly indexers?: Indexers<T>;
  /** Default resync period of handlers, and the period at which the informer looks for due ones, in milliseconds. 0 (default) = none. */
  readonly resyncMs?: number;
  /** Makes what is cached out of what came: drops fields, as a rule. */
  readonly transform?: Transform<T>;
  /** `delta` (default): by object, bounded. `inOrder`: every change, as client-go since 1.36. */
  readonly fifo?: 'delta' | 'inOrder';
  /**
   * What could not be written into the cache, because an index function threw, is queued again and tried once a second until it
   * can be; until then it is not cached, nobody is told of it, and `indexer.resourceVersion` stays. Its newest state counts. Each
   * attempt is told to `onHandlerError`. Needs `fifo: 'delta'`. Default false: it is cached and only missing in that index.
   * What handlers throw is not tried again. Source: RetryOnError of client-go's controller Config, until it was removed.
   */
  readonly retryOnError?: boolean;
  /** Told of trouble that no callback of these options takes: see `onWatchError`, `onHandlerError`. Default: process warnings. */
  readonly logger?: Logger;
  /** Whether changed cached objects are found. Default 'off'. */
  readonly mutationDetection?: MutationDetection;
  /**
   * Told what a handler, an index function or, for an event of the watch, the transform threw; `change` is what a handler
   * was told, `name` what is listed ("pods", "deployments.apps"). Default: a warning with name, change, key and stack, see `logger`. Never stops the informer (I8): the object that an index function failed for is
   * cached and told of, but missing in that index; one whose event the transform failed for stays as it was, until its next
   * change or a list, but a deletion is a deletion all the same (`isFinalStateUnknown`, with the last state cached). A transform that throws for one object of a list fails the whole list: that is told to `onWatchError`,
   * and the list is tried again with backoff, so an informer whose transform always throws never syncs. As in client-go.
   */
  readonly onHandlerError?: (error: unknown, change: ObjectChange<T> | undefined, name: string) => void;
}

export interface EventHandlerOptions {
  /**
   * Resync period of this handler, in milliseconds; 0 = none. Default: the informer's. Where it cannot be had there is a warning:
   * below 1000, shorter than that of an informer that has started, or at an informer without resyncs.
   */
  readonly resyncMs?: number;
}

/** A handler at an informer. */
export interface EventHandlerRegistration extends Syncable {
  /** The informer has synced and the handler was told all of the initial list. */
  readonly hasSynced: boolean;
  /** Calls that threw or rejected. */
  readonly errors: number;
  /** Objects with a change that waits for the handler, which is still busy. */
  readonly backlog: number;
  /** No further calls. Resolves when a call under way has ended; not to be awaited inside the handler. Idempotent. */
  close(): Promise<void>;
}
