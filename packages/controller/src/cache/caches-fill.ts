// Waits until the informers of a manager have read the existing objects. Used by manager.ts.
import type { Clock } from '@kapstan/api';
import type { CacheProblem } from './cache-problem.ts';
import type { CachedKinds } from './cached-kinds.ts';

interface CachesFillOptions {
  readonly stop: AbortSignal;
  readonly clock: Clock;
  /** 0 = no limit. */
  readonly timeoutMs: number;
  readonly textOf: (problem: CacheProblem) => string;
}

/**
 * Resolves to false when the manager stops first. Rejects when it takes too long, and at once if the client was closed.
 */
export async function cachesFill(
  cache: CachedKinds,
  { stop, clock, timeoutMs, textOf }: CachesFillOptions,
): Promise<boolean> {
  const over = new AbortController();
  const end = (): void => over.abort();
  const cancel = timeoutMs === 0 ? () => undefined : clock.setTimer(end, timeoutMs);
  stop.addEventListener('abort', end, { once: true });
  let closing: unknown;
  cache.followClosing((error) => {
    closing ??= error;
    end();
  });
  const isFilled = await cache.waitForSync(over.signal).finally(() => {
    stop.removeEventListener('abort', end);
    cancel();
  });
  if (isFilled) return true;
  // The causes were logged as warnings. controller-runtime's Start does not count the end of its context as a failure
  // either.
  if (stop.aborted) return false;
  if (closing !== undefined)
    throw new Error('the client is closed: a manager needs one that stays open until its run has ended', {
      cause: closing,
    });
  const text = cache.unsynced().map(textOf).join('; ');
  throw new Error(`timed out after ${timeoutMs} ms waiting for caches to sync: ${text}`);
}
