// WatchCacheOptions: which resources have a watch cache, and of what size. resources.ts passes it on to the stacks of all resources.
import type { ResourceStackOptions } from '@kapstan/apiserver';

/** Selects the resources that have a watch cache, and the amount of history. */
export interface WatchCacheOptions {
  readonly isEnabled: boolean;
  /** Size for resources that `sizes` does not name; 0 = no cache. */
  readonly defaultSize: number;
  /** Initial and minimum number of events that a cache's history can hold, by group resource ("deployments.apps"); 0 = no cache. */
  readonly sizes: ReadonlyMap<string, number>;
}

/** Returns the options of a stack; an empty object leaves its defaults. */
export function watchCacheOptions(
  cache: WatchCacheOptions | undefined,
): Pick<ResourceStackOptions, 'watchCache' | 'watchCacheSizes' | 'defaultWatchCacheSize'> {
  if (cache === undefined) return {};
  const { isEnabled, sizes, defaultSize } = cache;
  return { watchCache: isEnabled, watchCacheSizes: sizes, defaultWatchCacheSize: defaultSize };
}
