// Answers a list from the watch cache: takes the candidates in one turn and filters them in slices. Used by
// list-reader.ts. Source: apiserver storage/cacher/cacher.go (GetList).
import type { KubernetesObject, Revision } from '@kapstan/api';
import { formatRevision, TurnSlice } from '@kapstan/api/internal';
import {
  isEverything,
  matchesAttributes,
  nextPage,
  rangeOf,
  type SelectionPredicate,
  type StorageListOptions,
  type Stored,
  type StoredList,
} from '@kapstan/storage';
import type { CacheEntry } from './cache-entry.ts';
import type { WatchCache } from './watch-cache.ts';

export interface CachedListCall<T extends KubernetesObject> {
  /** A checked key; a prefix with a slash at its end when the list is recursive. */
  readonly key: string;
  readonly options: StorageListOptions<T>;
  readonly indexedFields: readonly string[];
  /** First key of the page, when a token names one. */
  readonly fromKey?: string | undefined;
  /** The past revision to read. Absent = the present. */
  readonly revision?: Revision | undefined;
}

export interface CachedList<T extends KubernetesObject> {
  readonly list: StoredList<T>;
  /** Number of objects that were examined. */
  readonly fetched: number;
  /** The index that was used: "f:spec.nodeName"; "" = none. */
  readonly index: string;
}

interface Candidates<T extends KubernetesObject> {
  readonly entries: readonly CacheEntry<T>[];
  readonly index: string;
}

/**
 * Lists the state at the requested revision, or at the cache's present one. Later changes do not show, however long the
 * filter takes. Returns undefined when the state at that revision is no longer known.
 */
export async function listFromCache<T extends KubernetesObject>(
  cache: WatchCache<T>,
  call: CachedListCall<T>,
): Promise<CachedList<T> | undefined> {
  const { predicate, resourceVersion, recursive } = call.options;
  // Atomic: the candidates and their revision are taken in one turn.
  const revision = call.revision ?? cache.revision;
  const candidates = candidatesOf(cache, call);
  if (candidates === undefined) return undefined;
  const { entries, index } = candidates;
  // A client that accepts any version gets the whole list, or the whole rest of one. Source: cacher.go
  // computeListLimit.
  const limit = recursive && resourceVersion !== '0' ? Math.max(0, predicate.limit) : 0;
  const page = await take(entries, predicate, limit);
  const list = { resourceVersion: formatRevision(revision), items: page.items };
  const successor = page.hasMore
    ? nextPage(pageEnd(call, revision, { ...page, limit, count: entries.length }))
    : { continue: '' };
  return { list: { ...list, ...successor }, fetched: page.looked, index };
}

function candidatesOf<T extends KubernetesObject>(
  cache: WatchCache<T>,
  call: CachedListCall<T>,
): Candidates<T> | undefined {
  const { key, options, indexedFields, fromKey, revision } = call;
  if (!options.recursive) {
    const entry = cache.store.get(key);
    return { entries: entry === undefined ? [] : [entry], index: '' };
  }
  const range = rangeOf(key, fromKey);
  if (revision !== undefined) {
    const entries = cache.stateAt(revision, range);
    return entries === undefined ? undefined : { entries, index: '' };
  }
  // As in kube-apiserver, later pages do not use the index, because a page must end at the same key with and without
  // it.
  for (const field of fromKey === undefined ? indexedFields : []) {
    const value = options.predicate.fields.exactValue(field);
    const found = value === undefined ? undefined : cache.store.byField(field, value, range);
    if (found !== undefined) return { entries: found, index: `f:${field}` };
  }
  return { entries: cache.store.range(range.start, range.end), index: '' };
}

interface Page<T extends KubernetesObject> {
  readonly items: readonly Stored<T>[];
  readonly looked: number;
  readonly hasMore: boolean;
  readonly lastKey: string;
}

async function take<T extends KubernetesObject>(
  candidates: readonly CacheEntry<T>[],
  predicate: SelectionPredicate<T>,
  limit: number,
): Promise<Page<T>> {
  const { length } = candidates;
  if (isEverything(predicate)) {
    const end = limit === 0 ? length : Math.min(limit, length);
    const items = candidates.slice(0, end).map((entry) => entry.stored);
    return { items, looked: end, hasMore: end < length, lastKey: candidates[end - 1]?.key ?? '' };
  }
  const items: Stored<T>[] = [];
  const slice = new TurnSlice();
  for (const [index, entry] of candidates.entries()) {
    if (slice.endsHere()) await slice.nextTurn();
    if (!matchesAttributes(predicate, entry.attributes)) continue;
    items.push(entry.stored);
    if (items.length === limit) return { items, looked: index + 1, hasMore: index < length - 1, lastKey: entry.key };
  }
  return { items, looked: length, hasMore: false, lastKey: '' };
}

function pageEnd<T extends KubernetesObject>(
  call: CachedListCall<T>,
  revision: Revision,
  page: { readonly lastKey: string; readonly limit: number; readonly count: number },
): Parameters<typeof nextPage>[0] {
  const everything = isEverything(call.options.predicate);
  // The slash is dropped as in kube-apiserver: tokens of its cache continue at "/ns/name", tokens of its store at
  // "ns/name".
  const prefix = call.key.slice(0, -1);
  return { lastKey: page.lastKey, prefix, revision, limit: page.limit, count: page.count, everything };
}
