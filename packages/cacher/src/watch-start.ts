// Decides where a watch on the cache begins: how fresh the cache must be, and which events are sent first. Source:
// apiserver storage/cacher/cacher.go (Watch).
import { type KubernetesObject, type Revision, StatusError } from '@kapstan/api';
import { rangeOf, type Storage, type StorageWatchOptions } from '@kapstan/storage';
import type { WatchStart } from './cache-watcher.ts';
import type { Freshness } from './freshness.ts';
import type { WatchCache } from './watch-cache.ts';

export interface WatchStartContext<T extends KubernetesObject> {
  readonly cache: WatchCache<T>;
  readonly freshness: Freshness;
  readonly storage: Pick<Storage<T>, 'currentResourceVersion' | 'supportsProgressRequests'>;
}

export interface WatchStartCall<T extends KubernetesObject> {
  readonly key: string;
  readonly options: StorageWatchOptions<T>;
  /** The requested version; 0 for "" and "0". */
  readonly asked: Revision;
}

/**
 * Waits until the cache is fresh enough, then resolves to a function that takes the start, for the turn in which the
 * watch starts. The promise rejects, and the function throws, with the error for the watch's one ERROR event.
 */
export async function watchStart<T extends KubernetesObject>(
  context: WatchStartContext<T>,
  call: WatchStartCall<T>,
): Promise<() => WatchStart<T>> {
  const { sendInitialEvents, resourceVersion = '' } = call.options;
  const { storage } = context;
  if (sendInitialEvents === true && call.options.predicate.allowWatchBookmarks && !storage.supportsProgressRequests) {
    // kube-apiserver sends this text bare, without the frame of other internal errors. Source: cacher.go Watch.
    const feature = 'a watch stream was requested by the client but the required storage feature RequestWatchProgress';
    throw new StatusError({ code: 500, reason: 'InternalError', message: `${feature} is disabled` });
  }
  const wantsNewest = resourceVersion === '' && sendInitialEvents !== undefined;
  const required = wantsNewest ? await storage.currentResourceVersion() : call.asked;
  if (sendInitialEvents === true) {
    await (wantsNewest ? context.freshness.wait(required) : context.freshness.wait(required, resourceVersion));
    return () => fromState(context.cache, call);
  }
  if (sendInitialEvents === undefined && required === 0) return () => fromState(context.cache, call);
  return () => fromHistory(context.cache, required === 0 ? context.cache.revision : required);
}

/** Starts with all objects, then sends later events. */
function fromState<T extends KubernetesObject>(cache: WatchCache<T>, call: WatchStartCall<T>): WatchStart<T> {
  const { key, options } = call;
  const single = options.recursive ? undefined : cache.store.get(key);
  const one = single === undefined ? [] : [single];
  const isMarked = options.marksInitialEventsEnd === true || options.predicate.allowWatchBookmarks;
  return {
    initial: options.recursive ? cache.store.range(key, rangeOf(key).end) : one,
    revision: cache.revision,
    position: cache.ring.end,
    endsWithBookmark: options.sendInitialEvents === true && isMarked,
  };
}

/** Starts with the events after a revision. Throws a 410 when they are no longer known. */
function fromHistory<T extends KubernetesObject>(cache: WatchCache<T>, after: Revision): WatchStart<T> {
  return { initial: [], revision: after, position: cache.positionAfter(after), endsWithBookmark: false };
}
