// Whether a list is answered by the cache or by the storage below, and in which state.
// Source: apiserver storage/cacher/delegator (ShouldDelegateList).
// Used by list-reader.ts.
import type { KubernetesObject, Revision } from '@kapstan/api';
import type { ListPosition, StorageListOptions } from '@kapstan/storage';

export type ListPlan =
  | { readonly source: 'storage' }
  /** The cache answers with what it has: `present`, at least at the asked version; `newest`, once it has the storage's newest revision. */
  | { readonly source: 'cache'; readonly state: 'present' | 'newest' }
  /** The cache answers with what there was at this revision, which may still have to come. */
  | { readonly source: 'cache'; readonly state: 'exact'; readonly revision: Revision };

/** What the cache and the storage below can do at this moment. */
export interface ListSupport {
  readonly progressRequests: boolean;
  /** The revision that the cache has reached. */
  readonly revision: Revision;
  /** False: past states are not to be trusted, whatever `knowsState` says. */
  readonly pastStates: boolean;
  /** True when the state at a revision up to the cache's can be told. */
  knowsState(revision: Revision): boolean;
}

const storage: ListPlan = { source: 'storage' };

/** `position` is that of validateListOptions. */
export function planList<T extends KubernetesObject>(
  options: StorageListOptions<T>,
  position: ListPosition,
  support: ListSupport,
): ListPlan {
  const { resourceVersion = '', resourceVersionMatch = '', recursive, predicate } = options;
  if (resourceVersionMatch === 'NotOlderThan') return { source: 'cache', state: 'present' };
  const hasToken = predicate.continue !== '';
  const isPastPage = predicate.limit > 0 && resourceVersion !== '' && resourceVersion !== '0';
  if (resourceVersionMatch === 'Exact' || hasToken || isPastPage) {
    if (!recursive || !support.pastStates) return storage;
    // A token without a revision goes on at the newest one.
    return hasToken && position.pinned === 0 ? newest(support) : exact(position.pinned, support);
  }
  return resourceVersion === '' ? newest(support) : { source: 'cache', state: 'present' };
}

function newest(support: ListSupport): ListPlan {
  return support.progressRequests ? { source: 'cache', state: 'newest' } : storage;
}

function exact(revision: Revision, support: ListSupport): ListPlan {
  const isWithinReach = revision > support.revision ? support.progressRequests : support.knowsState(revision);
  return isWithinReach ? { source: 'cache', state: 'exact', revision } : storage;
}
