// The port between informers and a source that lists and watches: the HTTP client, or the registry in the same process.
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
 * Lists and watches one resource, in one namespace or all, for caches. Objects are read-only, may be frozen in whole or
 * in part, and may share parts. Implemented by `client` and by the apiserver's registry.
 */
export interface ListerWatcher<T extends KubernetesObject> {
  /** The listed resource, for texts and to detect foreign objects. Absent = its user must name it or do without. */
  readonly resource?: Resource | undefined;
  /** False = it cannot stream its present state (`sendInitialEvents`), so it is listed instead. Default true. */
  readonly supportsWatchList?: boolean | undefined;
  /** Returns one page. Rejects with `StatusError`. */
  list(options: ListOptions): Promise<ListResult<T>>;
  /**
   * Returns a cold observable: one watch per subscription, no replay. Errors with `StatusError` (`isExpired` after
   * compaction) or a transport error; completes when the server ends the watch. Delivery is synchronous and unbuffered.
   */
  watch(options: WatchOptions): Observable<WatchEvent<T>>;
  /**
   * Calls the listener once, at the next answer that the source gives to anyone, so that callers that got none end
   * their pauses. The returned function ends the wait. Absent = a pause always lasts its full time.
   */
  whenReachable?(listener: () => void): () => void;
}
