// Follows again after a failure, with growing pauses, because a process that does not follow would miss every later
// change. Used by configuration-keeper.ts and own-certificates.ts.
import { type Clock, delay } from '@kapstan/api';
import { Backoff } from '@kapstan/api/internal';

const pauses = { initialMs: 800, maxMs: 30_000, factor: 2, jitter: 0.5, resetAfterMs: 120_000 } as const;

export interface FollowAgainPorts {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly onFailure: (error: unknown) => void;
}

/** Never rejects. Resolves when there is nothing to follow any more, or the signal has aborted. */
export async function followAgain(
  follow: () => Promise<void>,
  { clock, signal, onFailure }: FollowAgainPorts,
): Promise<void> {
  const backoff = new Backoff(pauses, { clock });
  while (!signal.aborted) {
    try {
      await follow();
      return;
    } catch (error) {
      if (signal.aborted) return;
      onFailure(error);
    }
    // It rejects only when the signal aborts.
    await delay(clock, backoff.next(), signal).catch(() => undefined);
  }
}
