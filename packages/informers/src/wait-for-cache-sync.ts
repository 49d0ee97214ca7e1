// Waiting until caches are filled, without polling. Source: client-go WaitForCacheSync, WaitFor.
import type { Syncable } from './sync-signal.ts';

/** Resolves to true when all have synced, to false when the signal aborts first. What has synced counts even then. */
export async function waitForCacheSync(
  syncables: Iterable<Syncable>,
  options: { readonly signal?: AbortSignal } = {},
): Promise<boolean> {
  const open = [...syncables].filter((syncable) => !syncable.hasSynced);
  if (open.length === 0) return true;
  const { signal } = options;
  if (signal?.aborted) return false;
  let stop: () => void = () => undefined;
  const aborted = new Promise<boolean>((resolve) => {
    stop = () => resolve(false);
    signal?.addEventListener('abort', stop, { once: true });
  });
  const synced = Promise.all(open.map((syncable) => syncable.whenSynced())).then(() => true);
  try {
    return await Promise.race([synced, aborted]);
  } finally {
    signal?.removeEventListener('abort', stop);
  }
}
