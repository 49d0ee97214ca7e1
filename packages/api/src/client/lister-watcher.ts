// The port between informers and whatever lists and watches: the HTTP client, or the registry in the same process.
import type { Observable } from 'rxjs';
import type { DeepReadonly, KubernetesObject } from '../objects/kubernetes-object.ts';
import type { ResourceVersion } from '../objects/resource-version.ts';
import type { WatchEvent } from '../objects/watch-event.ts';
import type { Resource } from '../resources/resource.ts';
import type { ListOptions, WatchOptions } from './call-options.ts';

/** One page of a list. */
export interface ListResult<T extends KubernetesObject> {
  readonly resourceVersion: ResourceVersion;
  /** Token of the next page; absent on the last. */
  readonly continue?: string;
  readonly remainingItemCount?: number;
  readonly items: readonly DeepReadonly<T>[];
}

/**
 * Lists and watches one resource (and one namespace or all of them), for caches: objects are read-only, may be frozen in whole or
 * in part, and may share parts. Implemented by `client` and by the apiserver's registry.
 */
export interface ListerWatcher<T extends KubernetesObject> {
  /** What it lists, for texts and to tell strange objects apart. Absent: its user must say, or goes without. */
  readonly resource?: Resource;
  /** False: it cannot stream its present state (`sendInitialEvents`), so it is listed without being asked to. Default true. */
  readonly supportsWatchList?: boolean;
  /** One page. Rejects with `StatusError`. */
  list(options: ListOptions): Promise<ListResult<T>>;
  /**
   * Cold: one watch per subscription. No replay. Errors with `StatusError` (`isExpired` after compaction) or a transport
   * error. Completes when the server ends the watch. Slow consumers: delivery is synchronous, nothing is buffered here.
   */
  watch(options: WatchOptions): Observable<WatchEvent<T>>;
  /**
   * Calls the listener once, with the next answer that the source gives to anybody; the result ends the waiting. For who got
   * no answer, so that one success ends the pauses of all. Absent: a pause lasts its time.
   */
  whenReachable?(listener: () => void): () => void;
}
