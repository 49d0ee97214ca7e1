// CachedKinds: some kinds of an informer cache, and whether they are filled. Made by informer-cache.ts; caches-fill.ts waits for them.
import type { KubernetesObject, Resource } from '@kapstan/api';
import { type ReflectorStatus, type SharedInformer, waitForCacheSync } from '@kapstan/informers';
import { Subscription } from 'rxjs/internal/Subscription';
import { type CacheProblem, isOfClosedClient } from './cache-problem.ts';

export interface CachedKind {
  readonly kind: Resource;
  /** One informer, or one per namespace. */
  readonly informers: readonly SharedInformer<KubernetesObject>[];
}

export class CachedKinds {
  readonly #kinds: readonly CachedKind[];

  constructor(kinds: readonly CachedKind[]) {
    this.#kinds = kinds;
  }

  /** Returns the reason why each unfilled kind is unfilled, if its server has answered; empty = all are filled. */
  unsynced(): readonly CacheProblem[] {
    return this.#kinds.flatMap(({ kind, informers }) => {
      const bad = informers.filter((informer) => !isFilled(informer));
      if (bad.length === 0) return [];
      const error = bad.map(({ status }) => status.error).find((one) => one !== undefined);
      return [{ kind, error }];
    });
  }

  /** Calls `tell` with the error of an informer whose client was closed, even if that happened earlier. */
  followClosing(tell: (error: unknown) => void): void {
    for (const { informers } of this.#kinds)
      for (const informer of informers)
        informer.status$.subscribe(({ error }) => {
          if (isOfClosedClient(error)) tell(error);
        });
  }

  /**
   * Resolves to true when all kinds are listed and have been watched, because a list that nobody may watch is out of
   * date at once. False when the signal aborts first.
   */
  async waitForSync(signal: AbortSignal): Promise<boolean> {
    const informers = this.#kinds.flatMap((cached) => cached.informers);
    const all = await Promise.all(informers.map((informer) => becomesFilled(informer, signal)));
    return all.every(Boolean);
  }
}

export const isFilled = ({ hasSynced, status }: SharedInformer<KubernetesObject>): boolean =>
  hasSynced && status.phase === 'live';

/** Resolves to false when the informer ends or the signal aborts first. */
async function becomesFilled(informer: SharedInformer<KubernetesObject>, signal: AbortSignal): Promise<boolean> {
  if (!(await waitForCacheSync([informer], { signal }))) return false;
  return await new Promise((resolve) => {
    const statuses = new Subscription();
    const end = (): void => {
      signal.removeEventListener('abort', end);
      statuses.unsubscribe();
      resolve(isFilled(informer));
    };
    signal.addEventListener('abort', end, { once: true });
    const next = ({ phase }: ReflectorStatus): unknown => phase === 'live' && end();
    statuses.add(informer.status$.subscribe({ next, complete: end }));
    if (signal.aborted) end();
  });
}
