// Limits the time of a call in process by its own signal and `timeoutMs`, joined into one signal. Used by
// in-process-client.ts and in-process-lister-watcher.ts.
import type { CallOptions, Clock } from '@kapstan/api';
import { timeout } from '@kapstan/api/errors';

/**
 * Rejects with 504 when the time is over, and with the signal's reason when that aborts. It rejects at once, even if
 * the work has not yet checked the signal. As over HTTP, a write may still have happened.
 */
export function withinTime<O extends CallOptions, R>(
  clock: Clock,
  options: O,
  work: (options: O) => Promise<R>,
): Promise<R> {
  const { signal, timeoutMs = 0 } = options;
  if (timeoutMs === 0) return work(options);
  return new Promise<R>((resolve, reject) => {
    const controller = new AbortController();
    const stop = (reason: unknown): void => {
      controller.abort(reason);
      reject(reason);
    };
    const onAbort = (): void => stop(signal?.reason);
    if (signal?.aborted) return onAbort();
    signal?.addEventListener('abort', onAbort, { once: true });
    const message = 'request did not complete within requested timeout - context deadline exceeded';
    const cancelTimer = clock.setTimer(() => stop(timeout(message, 0)), timeoutMs);
    void work({ ...options, signal: controller.signal })
      .then(resolve, reject)
      .finally(() => {
        cancelTimer();
        signal?.removeEventListener('abort', onAbort);
      });
  });
}
