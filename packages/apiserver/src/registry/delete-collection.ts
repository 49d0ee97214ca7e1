// DeleteCollection: lists and deletes page by page with a few workers. registry.Store.DeleteCollection. spec/storage.md §4.6.
import { isNotFound, type KubernetesObject } from '@kapstan/api';
import type { Stored, StoredList } from '@kapstan/storage';
import type { RequestContext } from './request-context.ts';
import type { DeleteRequest, ResourceStore, SelectRequest } from './resource-store.ts';

/** Items of one page when the client sets no limit. Source: registry.deleteCollectionPageSize. */
const pageSize = 10_000;

export interface CollectionDeletion {
  readonly request: DeleteRequest;
  readonly select: SelectRequest;
  /** Deletions at the same time. At least 1. */
  readonly workers: number;
}

/** Not atomic: what was deleted before a failure stays deleted. Answers with the objects as they were listed. */
export async function deleteCollection<T extends KubernetesObject>(
  store: ResourceStore<T>,
  context: RequestContext,
  { request, select, workers }: CollectionDeletion,
): Promise<StoredList<T>> {
  const hasLimit = (select.limit ?? 0) > 0;
  const deleteAll = (items: readonly Stored<T>[]): Promise<void> =>
    deletePage({ store, context, request, workers }, items);
  const first = await store.list(context, hasLimit ? select : { ...select, limit: pageSize });
  await deleteAll(first.items);
  const items = [...first.items];
  for (let next = first.continue; next !== '' && !hasLimit; ) {
    context.signal?.throwIfAborted();
    const { resourceVersion: _version, resourceVersionMatch: _match, ...rest } = select;
    const page = await store.list(context, { ...rest, limit: pageSize, continue: next });
    await deleteAll(page.items);
    items.push(...page.items);
    next = page.continue;
  }
  return { ...first, continue: hasLimit ? first.continue : '', items };
}

interface PageDeletion<T extends KubernetesObject> {
  readonly store: ResourceStore<T>;
  readonly context: RequestContext;
  readonly request: DeleteRequest;
  readonly workers: number;
}

/** The first failure ends all workers; objects that are gone already are none. */
async function deletePage<T extends KubernetesObject>(
  page: PageDeletion<T>,
  items: readonly Stored<T>[],
): Promise<void> {
  let next = 0;
  let hasFailed = false;
  const work = async (): Promise<void> => {
    while (next < items.length && !hasFailed) {
      const item = items[next++];
      if (item === undefined) continue;
      try {
        await deleteItem(page, item);
      } catch (error) {
        hasFailed = true;
        throw error;
      }
    }
  };
  const workers = Array.from({ length: Math.max(1, Math.min(page.workers, items.length)) }, work);
  const failed = (await Promise.allSettled(workers)).find((outcome) => outcome.status === 'rejected');
  if (failed?.status === 'rejected') throw failed.reason;
}

async function deleteItem<T extends KubernetesObject>(page: PageDeletion<T>, item: Stored<T>): Promise<void> {
  const { name = '', namespace = '' } = item.object.metadata ?? {};
  try {
    await page.store.delete(
      { ...page.context, namespace, warn: (text) => page.context.warn(text) },
      name,
      page.request,
    );
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}
