// DeleteCollection lists and deletes page by page with a few workers. Source: apiserver
// registry/generic/registry/store.go (DeleteCollection).
import { isNotFound, type KubernetesObject } from '@kapstan/api';
import type { Stored, StoredList } from '@kapstan/storage';
import PQueue from 'p-queue';
import type { RequestContext } from '../definition/request-context.ts';
import type { DeleteRequest, ResourceStore, SelectRequest } from '../definition/resource-store.ts';

/** Items of one page when the client sets no limit. Source: registry.deleteCollectionPageSize. */
const pageSize = 10_000;

export interface CollectionDeletion {
  readonly request: DeleteRequest;
  readonly select: SelectRequest;
  /** Number of concurrent deletions, at least 1. */
  readonly workers: number;
}

/**
 * Deletes the selected objects and returns them as they were listed. Not atomic: objects deleted before a failure stay
 * deleted.
 */
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

/**
 * A failure ends its worker; the other workers continue to the end. The earliest failure is the answer. Objects that
 * are already gone are not failures. Source: registry.Store.DeleteCollection.
 */
async function deletePage<T extends KubernetesObject>(
  page: PageDeletion<T>,
  items: readonly Stored<T>[],
): Promise<void> {
  const failures: unknown[] = [];
  const queue = new PQueue({ concurrency: page.workers });
  const retireWorker = (failure: unknown): void => {
    failures.push(failure);
    const left = page.workers - failures.length;
    if (left > 0) queue.concurrency = left;
    else queue.clear();
  };
  for (const item of items) void queue.add(() => deleteItem(page, item).catch(retireWorker));
  await queue.onIdle();
  if (failures.length > 0) throw failures[0];
}

async function deleteItem<T extends KubernetesObject>(page: PageDeletion<T>, item: Stored<T>): Promise<void> {
  const { name = '', namespace = '' } = item.view((object) => object.metadata) ?? {};
  try {
    await page.store.delete({ ...page.context, namespace, warn: (text) => page.context.warn(text) }, name, {
      ...page.request,
      isOfCollection: true,
    });
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}
