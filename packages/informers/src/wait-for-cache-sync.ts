// Waits until caches are filled, without polling. Source: client-go WaitForCacheSync, WaitFor.
import { addAbortListener, removeAbortListener, requireSignal } from '@kapstan/api/internal';
import type { Syncable } from './handlers/sync-signal.ts';

/**
 * Resolves to true when all have synced, to false when the signal aborts or one of them is closed first; one that has synced counts even
 * when closed. Rejects with TypeError only for a bad argument.
 */
export async function waitForCacheSync(
  syncables: Iterable<Syncable>,
  options: { readonly signal?: AbortSignal } = {},
): Promise<boolean> {
  requireSignal(options.signal);
  if (typeof Object(syncables)[Symbol.iterator] !== 'function')
    throw new TypeError('waitForCacheSync() takes a list of informers or registrations');
  const open = [...syncables].filter((syncable) => !syncable.hasSynced);
  if (open.length === 0) return true;
  const { signal } = options;
  if (signal?.aborted) return false;
  let stop: () => void = () => undefined;
  const aborted = new Promise<boolean>((resolve) => {
    stop = () => resolve(false);
    addAbortListener(signal, stop);
  });
  const synced = new Promise<boolean>((resolve) => {
    let left = open.length;
    for (const syncable of open)
      void syncable.whenSynced().then((hasSynced) => {
        if (!hasSynced) resolve(false);
        else if (--left === 0) resolve(true);
      });
  });
  try {
    return await Promise.race([synced, aborted]);
  } finally {
    removeAbortListener(signal, stop);
  }
}

/**
 * Returns the error with which to end a start when caches have not synced, or undefined when all have. `synced` is the result of
 * `SharedInformerFactory.waitForCacheSync`; `cause` is the reason of the signal that ended the wait. Source: client-go SyncResult.AsError.
 *
 * @example
 * ```ts
 * import { connect } from '@kapstan/client';
 * import { cacheSyncError, SharedInformerFactory } from '@kapstan/informers';
 * import { Pod } from '@kapstan/kinds/core/v1';
 *
 * const factory = new SharedInformerFactory(await connect());
 * factory.informer(Pod);
 * factory.start();
 * const signal = AbortSignal.timeout(10_000);
 * const error = cacheSyncError(await factory.waitForCacheSync({ signal }), signal.reason);
 * if (error !== undefined) throw error;
 * ```
 */
export function cacheSyncError(synced: ReadonlyMap<string, boolean>, cause?: unknown): Error | undefined {
  const missing = [...synced].filter(([, hasSynced]) => !hasSynced).map(([resource]) => resource);
  if (missing.length === 0) return undefined;
  const reason = cause instanceof Error ? cause.message : String(cause ?? 'the wait was ended');
  return new Error(`failed to sync all caches: ${missing.sort().join(', ')}: ${reason}`, { cause });
}
