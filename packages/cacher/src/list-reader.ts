// ListReader answers lists from the cache where it can and from the storage below where it must. It sits between
// cacher.ts and cached-list.ts. Source: apiserver storage/cacher/delegator.go (GetList).
import { isTooLargeResourceVersion, type KubernetesObject } from '@kapstan/api';
import {
  type ListPosition,
  parseResourceVersion,
  type Storage,
  type StorageListOptions,
  type StoredList,
  validateListOptions,
} from '@kapstan/storage';
import { type CachedListCall, listFromCache } from './cached-list.ts';
import type { Freshness } from './freshness.ts';
import { type ListPlan, planList } from './list-plan.ts';
import type { Readiness } from './readiness.ts';
import type { WatchCache } from './watch-cache.ts';

/** Cost of the lists that used one index. The counts never go down. */
export interface ListCounts {
  /** "f:spec.nodeName"; "" = no index. */
  readonly index: string;
  readonly lists: number;
  /** Number of objects that were examined. */
  readonly fetched: number;
  readonly returned: number;
}

interface ListCounters {
  consistentReads: number;
  consistentReadFallbacks: number;
  consistentReadFailures: number;
  exactReadFallbacks: number;
}

export interface ListReaderParts<T extends KubernetesObject> {
  readonly storage: Storage<T>;
  readonly cache: WatchCache<T>;
  readonly freshness: Freshness;
  readonly readiness: Readiness;
  readonly indexedFields: readonly string[];
}

export class ListReader<T extends KubernetesObject> {
  readonly #counters: ListCounters = {
    consistentReads: 0,
    consistentReadFallbacks: 0,
    consistentReadFailures: 0,
    exactReadFallbacks: 0,
  };
  readonly #byIndex = new Map<string, ListCounts>();
  readonly #parts: ListReaderParts<T>;

  constructor(parts: ListReaderParts<T>) {
    this.#parts = parts;
  }

  inspect(): Readonly<ListCounters> & { readonly lists: readonly ListCounts[] } {
    return { ...this.#counters, lists: [...this.#byIndex.values()] };
  }

  /** Answers a list. `key` is checked; it is a prefix with a slash at its end when the list is recursive. */
  async read(key: string, options: StorageListOptions<T>): Promise<StoredList<T>> {
    const { storage, readiness } = this.#parts;
    const position = validateListOptions(key, options);
    const plan = this.#plan(options, position);
    if (plan.source === 'storage') return this.#fromStorage(key, options);
    if (!readiness.isReady) {
      if (isCheapPage(options)) return storage.getList(key, options);
      throw readiness.refusal();
    }
    options.span?.addEvent('Ready');
    if (!(await this.#becomeFresh(plan, options, position.asked))) {
      return this.#standIn(key, options);
    }
    options.span?.addEvent('watchCache fresh enough');
    const answer = await this.#fromCache(key, options, {
      fromKey: position.fromKey,
      ...(plan.state === 'exact' ? { revision: plan.revision } : {}),
    });
    if (plan.state === 'newest') this.#counters.consistentReads++;
    if (answer !== undefined) return answer;
    this.#counters.exactReadFallbacks++;
    return this.#fromStorage(key, options);
  }

  #plan(options: StorageListOptions<T>, position: ListPosition): ListPlan {
    const { storage, cache } = this.#parts;
    return planList(options, position, {
      progressRequests: storage.supportsProgressRequests,
      revision: cache.revision,
      pastStates: cache.pastStates,
      // A revision that was compacted below counts as gone here at once.
      knowsState: (revision) => revision >= storage.compactRevision() && cache.knowsState(revision),
    });
  }

  /**
   * Resolves to false when the cache did not reach the newest revision in time. Rejects with 504 when the client named
   * the version.
   */
  async #becomeFresh(
    plan: Exclude<ListPlan, { source: 'storage' }>,
    options: StorageListOptions<T>,
    asked: string,
  ): Promise<boolean> {
    const { storage, freshness } = this.#parts;
    const { resourceVersion = '' } = options;
    if (plan.state === 'exact') {
      await freshness.wait(plan.revision, asked);
      return true;
    }
    if (plan.state === 'present') {
      await freshness.wait(parseResourceVersion(resourceVersion), resourceVersion);
      return true;
    }
    return freshness.wait(await storage.currentResourceVersion()).then(
      () => true,
      (error: unknown) => {
        if (isTooLargeResourceVersion(error)) return false;
        throw error;
      },
    );
  }

  /** Lets the storage answer a consistent read for which the cache lags too far behind. */
  async #standIn(key: string, options: StorageListOptions<T>): Promise<StoredList<T>> {
    this.#counters.consistentReadFallbacks++;
    try {
      return await this.#fromStorage(key, options);
    } catch (error) {
      this.#counters.consistentReadFailures++;
      throw error;
    }
  }

  async #fromCache(
    key: string,
    options: StorageListOptions<T>,
    at: Pick<CachedListCall<T>, 'fromKey' | 'revision'>,
  ): Promise<StoredList<T> | undefined> {
    const { cache, indexedFields } = this.#parts;
    const answer = await listFromCache(cache, { key, options, indexedFields, ...at });
    if (answer === undefined) return undefined;
    const { index, fetched, list } = answer;
    options.span?.addEvent('Listed items from cache', { count: fetched });
    options.span?.addEvent('Filtered items', { count: list.items.length });
    const counts = this.#byIndex.get(index) ?? { index, lists: 0, fetched: 0, returned: 0 };
    this.#byIndex.set(index, {
      index,
      lists: counts.lists + 1,
      fetched: counts.fetched + fetched,
      returned: counts.returned + list.items.length,
    });
    return list;
  }

  #fromStorage(key: string, options: StorageListOptions<T>): Promise<StoredList<T>> {
    return this.#parts.storage.getList(key, isWholeRest(options) ? withoutLimit(options) : options);
  }
}

/**
 * Returns true for a later page of a client that accepts any version: it gets the whole rest, whether the cache or the
 * storage answers.
 */
function isWholeRest<T extends KubernetesObject>({ resourceVersion, predicate }: StorageListOptions<T>): boolean {
  return resourceVersion === '0' && predicate.continue !== '';
}

function withoutLimit<T extends KubernetesObject>(options: StorageListOptions<T>): StorageListOptions<T> {
  return { ...options, predicate: { ...options.predicate, limit: 0 } };
}

/**
 * Returns true for a page without selectors. It costs the storage little, so it is answered even before the cache is
 * filled.
 */
function isCheapPage<T extends KubernetesObject>({ predicate }: StorageListOptions<T>): boolean {
  return predicate.limit > 0 && predicate.labels.isEmpty && predicate.fields.isEmpty;
}
