// Reads, changes and updates, and repeats this after a conflict: client-go's retry.RetryOnConflict.
import { type Clock, delay, isConflict, systemClock } from '@kapstan/api';
import { Backoff, requireGivenFunction, requireNotNegative, requireSignal } from '@kapstan/api/internal';

/** Options of {@link retryOnConflict}: how often and after which pauses. */
export interface RetryOnConflictOptions {
  /** Maximum number of attempts. At least 1. Default 5. */
  readonly steps?: number;
  /** Wait before the second attempt, in milliseconds. Default 10. */
  readonly initialMs?: number;
  /** Factor by which each wait is longer than the last. Default 1. */
  readonly factor?: number;
  /** Share of a wait that is added at random at most. Default 0.1. */
  readonly jitter?: number;
  /** Default: the system's. */
  readonly clock?: Clock;
  /** Ends the wait; the promise rejects with its reason. */
  readonly signal?: AbortSignal;
}

/**
 * Runs `attempt` until it does not reject with a 409 Conflict; it must read the object again each time. Rejects with the last conflict when
 * all attempts are used, at once with any other error, and with TypeError for bad options.
 */
export async function retryOnConflict<R>(attempt: () => Promise<R>, options: RetryOnConflictOptions = {}): Promise<R> {
  const { steps = 5, initialMs = 10, factor = 1, jitter = 0.1, clock = systemClock, signal } = options;
  requireGivenFunction(attempt, 'the attempt of retryOnConflict()');
  if (!(Number.isInteger(steps) && steps >= 1))
    throw new TypeError(`steps must be a whole number of at least 1, not ${steps}`);
  for (const [name, value] of Object.entries({ initialMs, factor, jitter })) requireNotNegative(value, name);
  requireSignal(signal);
  const backoff = new Backoff(
    { initialMs, factor, jitter, maxMs: Number.POSITIVE_INFINITY, resetAfterMs: 0 },
    { clock },
  );
  for (let step = 1; ; step++) {
    try {
      return await attempt();
    } catch (error) {
      if (!isConflict(error) || step >= steps) throw error;
    }
    await delay(clock, backoff.next(), signal);
  }
}
