// Whether a list is answered by the cache or by the storage below: the table of spec/storage.md §3.8.
import type { KubernetesObject, Revision } from '@kapstan/api';
import type { ListPosition, StorageListOptions } from '@kapstan/storage';

export type ListPlan =
  /** The storage below answers; with `notBefore` only once the cache has that revision, so that a future one is refused here. */
  | { readonly source: 'storage'; readonly notBefore: Revision }
  /** The cache answers, as soon as it has the newest revision of the storage. */
  | { readonly source: 'cache'; readonly isConsistent: true }
  /** The cache answers with what it has, at least at the asked version. */
  | { readonly source: 'cache'; readonly isConsistent: false };

const storage: ListPlan = { source: 'storage', notBefore: 0 as Revision };

/**
 * Lists at one past revision (Exact, continue tokens, a version with a limit) go to the storage: this cache keeps no
 * snapshots. `position` is that of validateListOptions.
 */
export function planList<T extends KubernetesObject>(
  options: StorageListOptions<T>,
  position: ListPosition,
  support: { readonly progressRequests: boolean },
): ListPlan {
  const { resourceVersion = '', resourceVersionMatch = '', recursive } = options;
  if (resourceVersionMatch === 'NotOlderThan') return { source: 'cache', isConsistent: false };
  const hasToken = options.predicate.continue !== '';
  const isPastPage = options.predicate.limit > 0 && resourceVersion !== '' && resourceVersion !== '0';
  if (resourceVersionMatch === 'Exact' || isPastPage) {
    const waits = recursive && support.progressRequests;
    return waits ? { source: 'storage', notBefore: position.pinned } : storage;
  }
  if (hasToken) return storage;
  if (resourceVersion !== '') return { source: 'cache', isConsistent: false };
  return support.progressRequests ? { source: 'cache', isConsistent: true } : storage;
}
