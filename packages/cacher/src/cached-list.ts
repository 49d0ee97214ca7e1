// Answers a list from the watch cache: candidates in one turn, filtered in slices. spec/storage.md §3.8.
import { formatRevision, type KubernetesObject, type Revision } from '@kapstan/api';
import {
  isEverything,
  matchesAttributes,
  nextPage,
  type SelectionPredicate,
  type StorageListOptions,
  type Stored,
  type StoredList,
} from '@kapstan/storage';
import type { CacheEntry } from './cache-entry.ts';
import type { WatchCache } from './watch-cache.ts';

// A selector costs up to a microsecond an object, so a slice stays in the low milliseconds.
const entriesPerTurn = 5_000;

export interface CachedListCall<T extends KubernetesObject> {
  /** A checked key; a prefix with a slash at its end when the list is recursive. */
  readonly key: string;
  readonly options: StorageListOptions<T>;
  readonly indexedFields: readonly string[];
}

/** The list at the revision that the cache has now. Later changes do not show, however long the filter takes. */
export async function listFromCache<T extends KubernetesObject>(
  cache: WatchCache<T>,
  call: CachedListCall<T>,
): Promise<StoredList<T>> {
  const { predicate, resourceVersion, recursive } = call.options;
  // Atomic: the candidates and their revision are taken in one turn.
  const revision = cache.revision;
  const candidates = candidatesOf(cache, call);
  // Clients that take any version get the whole list: a page of it could not be continued.
  const limit = recursive && resourceVersion !== '0' ? Math.max(0, predicate.limit) : 0;
  const page = await take(candidates, predicate, limit);
  const list = { resourceVersion: formatRevision(revision), items: page.items };
  if (!page.hasMore) return { ...list, continue: '' };
  return { ...list, ...nextPage(pageEnd(call, revision, { ...page, limit, count: candidates.length })) };
}

function candidatesOf<T extends KubernetesObject>(
  cache: WatchCache<T>,
  call: CachedListCall<T>,
): readonly CacheEntry<T>[] {
  const { key, options, indexedFields } = call;
  if (!options.recursive) {
    const entry = cache.store.get(key);
    return entry === undefined ? [] : [entry];
  }
  const range = { start: key, end: `${key.slice(0, -1)}0` };
  for (const field of indexedFields) {
    const value = options.predicate.fields.exactValue(field);
    const found = value === undefined ? undefined : cache.store.byField(field, value, range);
    if (found !== undefined) return found;
  }
  return cache.store.range(range.start, range.end);
}

interface Page<T extends KubernetesObject> {
  readonly items: readonly Stored<T>[];
  readonly hasMore: boolean;
  readonly lastKey: string;
}

async function take<T extends KubernetesObject>(
  candidates: readonly CacheEntry<T>[],
  predicate: SelectionPredicate<T>,
  limit: number,
): Promise<Page<T>> {
  if (isEverything(predicate)) {
    const end = limit === 0 ? candidates.length : Math.min(limit, candidates.length);
    const items = candidates.slice(0, end).map((entry) => entry.stored);
    return { items, hasMore: end < candidates.length, lastKey: candidates[end - 1]?.key ?? '' };
  }
  const items: Stored<T>[] = [];
  for (const [index, entry] of candidates.entries()) {
    if (index > 0 && index % entriesPerTurn === 0) await new Promise((resolve) => setImmediate(resolve));
    if (!matchesAttributes(predicate, entry.attributes)) continue;
    items.push(entry.stored);
    if (items.length === limit) return { items, hasMore: index < candidates.length - 1, lastKey: entry.key };
  }
  return { items, hasMore: false, lastKey: '' };
}

function pageEnd<T extends KubernetesObject>(
  call: CachedListCall<T>,
  revision: Revision,
  page: { readonly lastKey: string; readonly limit: number; readonly count: number },
): Parameters<typeof nextPage>[0] {
  const everything = isEverything(call.options.predicate);
  return { lastKey: page.lastKey, prefix: call.key, revision, limit: page.limit, count: page.count, everything };
}
