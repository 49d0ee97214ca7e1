// Lists of a ConvertedStorage. Objects are converted in batches. If selectors need the converted object, the storage
// below is read page by page until the requested page is full. Part of converted-storage.ts.

import type { UnstructuredObject } from '@kapstan/api';
import { parseRevision, TurnSlice } from '@kapstan/api/internal';
import {
  encodeContinue,
  keyAfter,
  matches,
  type Storage,
  type StorageListOptions,
  type Stored,
  type StoredList,
} from '@kapstan/storage';
import { type ConvertedObjects, maxBatchObjects } from './converted-objects.ts';
import { selectsByMetadata, withoutSelectors } from './metadata-selection.ts';

export interface ConvertedListParts {
  readonly base: Storage<UnstructuredObject>;
  readonly objects: ConvertedObjects;
}

type ListOptions = StorageListOptions<UnstructuredObject>;
type ObjectList = StoredList<UnstructuredObject>;

export async function listConverted(parts: ConvertedListParts, key: string, options: ListOptions): Promise<ObjectList> {
  const { predicate } = options;
  if (selectsByMetadata(predicate)) {
    const list = await parts.base.getList(key, options);
    return { ...list, items: await parts.objects.all(list.items, options) };
  }
  if (predicate.limit === 0 || !options.recursive) return listSelected(parts, key, options);
  return pageSelected(parts, key, options);
}

async function listSelected(parts: ConvertedListParts, key: string, options: ListOptions): Promise<ObjectList> {
  const list = await parts.base.getList(key, { ...options, predicate: withoutSelectors(options.predicate) });
  return { ...list, items: await selected(parts, list.items, options) };
}

/** Reads until the page is full, because few of the objects may match. */
async function pageSelected(parts: ConvertedListParts, key: string, options: ListOptions): Promise<ObjectList> {
  const { limit } = options.predicate;
  const all = withoutSelectors(options.predicate);
  const items: Stored<UnstructuredObject>[] = [];
  let list = await parts.base.getList(key, {
    ...options,
    predicate: { ...all, limit: Math.max(limit, maxBatchObjects) },
  });
  for (;;) {
    options.signal?.throwIfAborted();
    const found = await selected(parts, list.items, options);
    const room = limit - items.length;
    items.push(...found.slice(0, room));
    const last = items.at(-1);
    const isCut = found.length > room || (found.length === room && found.at(-1)?.key !== list.items.at(-1)?.key);
    if (items.length === limit && last !== undefined && isCut) return { ...pageEnd(list, key, last.key), items };
    if (list.continue === '' || items.length === limit) {
      return { resourceVersion: list.resourceVersion, items, continue: list.continue };
    }
    list = await parts.base.getList(key, nextPage(options, list.continue));
  }
}

/** The next page starts where this one ends, which is within a page of the storage below. */
function pageEnd({ resourceVersion }: ObjectList, key: string, lastKey: string): Omit<ObjectList, 'items'> {
  const prefix = key.endsWith('/') ? key : `${key}/`;
  const revision = parseRevision(resourceVersion) ?? 0;
  return { resourceVersion, continue: encodeContinue(keyAfter(lastKey), prefix, revision) };
}

/** Returns the options of a further page. They name no version, because the token contains it. */
function nextPage(
  { predicate, resourceVersion: _v, resourceVersionMatch: _m, ...rest }: ListOptions,
  token: string,
): ListOptions {
  const page = { ...withoutSelectors(predicate), limit: maxBatchObjects, continue: token };
  return { ...rest, predicate: page };
}

async function selected(
  { objects }: ConvertedListParts,
  items: readonly Stored<UnstructuredObject>[],
  options: ListOptions,
): Promise<readonly Stored<UnstructuredObject>[]> {
  const slice = new TurnSlice();
  const found: Stored<UnstructuredObject>[] = [];
  for (const stored of await objects.all(items, options)) {
    if (stored.view((object) => matches(options.predicate, object))) found.push(stored);
    if (slice.endsHere()) await slice.nextTurn();
  }
  return found;
}
