// Waits for the end of a manager's work, which has the grace period after the stop. manager.ts starts the work.
import { type Clock, delay, type Logger } from '@kapstan/api';
import { aborted } from './aborted.ts';

/** Time for events that wait to be written and for runs that end with their signal, in milliseconds. */
export const lastWordsMs = 2000;

export interface WorkSignals {
  readonly stop: AbortSignal;
  readonly lost: AbortSignal;
}

interface EndOptions extends WorkSignals {
  readonly clock: Clock;
  readonly gracePeriodMs: number;
  readonly logger: Logger;
  /** Names what is still under way. */
  readonly left: () => string;
}

/** Resolves to true when the work ends, and to false after a lost leadership. Rejects when the work does not end in time after a stop. */
export async function endsInTime(work: Promise<unknown>, options: EndOptions): Promise<boolean> {
  const over = new AbortController();
  try {
    return await Promise.race([work.then(() => true), lateEnd(over.signal, options).then(() => false)]);
  } finally {
    over.abort();
  }
}

async function lateEnd(
  over: AbortSignal,
  { stop, lost, clock, gracePeriodMs, logger, left }: EndOptions,
): Promise<void> {
  await aborted(AbortSignal.any([stop, lost, over]));
  const lostOrOver = AbortSignal.any([lost, over]);
  await delay(clock, gracePeriodMs + lastWordsMs, lostOrOver).catch(() => undefined);
  if (!lostOrOver.aborted)
    throw new Error(
      `failed waiting for all controllers to end within grace period of ${gracePeriodMs} ms and ${lastWordsMs} ms for aborted runs; still under way: ${left()}`,
    );
  // Their signals are aborted and they can no longer write. Others lead now, so this process must end.
  await delay(clock, lastWordsMs, over).catch(() => undefined);
  if (!over.aborted) logger.warn('leadership was lost; runs that did not end are abandoned', { underWay: left() });
}
