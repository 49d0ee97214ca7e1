// Waiting until caches are filled, without polling. Source: client-go WaitForCacheSync, WaitFor.
import { addAbortListener, removeAbortListener, requireSignal } from '@kapstan/api';
import type { Syncable } from './sync-signal.ts';

/**
 * Resolves to true when all have synced, to false when the signal aborts or one of them is closed before. What has synced
 * counts even then. Rejects with TypeError on a bad argument only.
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
