// Decides whether the cache or the storage below answers a list, and in which state. Used by list-reader.ts. Source:
// apiserver storage/cacher/delegator (ShouldDelegateList).
import type { KubernetesObject, Revision } from '@kapstan/api';
import type { ListPosition, StorageListOptions } from '@kapstan/storage';

export type ListPlan =
  | { readonly source: 'storage' }
  /**
   * The cache answers with its state: `present` = at the requested version or later; `newest` = at the storage's newest revision.
   */
  | { readonly source: 'cache'; readonly state: 'present' | 'newest' }
  /** The cache answers with the state at this revision, once it has reached it. */
  | { readonly source: 'cache'; readonly state: 'exact'; readonly revision: Revision };

/** The abilities of the cache and the storage below at this moment. */
export interface ListSupport {
  readonly progressRequests: boolean;
  /** The revision that the cache has reached. */
  readonly revision: Revision;
  /** False when past states must not be trusted, whatever `knowsState` returns. */
  readonly pastStates: boolean;
  /** Returns true when the cache knows its state at the revision, which is not above its own. */
  knowsState(revision: Revision): boolean;
}

const storage: ListPlan = { source: 'storage' };

/** Plans a list. `position` is the result of validateListOptions. */
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
    // A token without a revision continues at the newest one.
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
