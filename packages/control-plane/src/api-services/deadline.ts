// A signal that aborts after a time, on a clock. Used by the loops that ask other API servers.
import type { Clock } from '@kapstan/api';

interface DeadlineOptions {
  readonly clock: Clock;
  /** Aborts it too. */
  readonly signal: AbortSignal;
  /** Text of the error. */
  readonly text: string;
}

/** Call `cancel` when the work is over. */
export function deadlineAfter(
  ms: number,
  { clock, signal, text }: DeadlineOptions,
): { readonly signal: AbortSignal; readonly cancel: () => void } {
  const stop = new AbortController();
  const cancel = clock.setBackgroundTimer(() => stop.abort(new Error(text)), ms);
  return { signal: AbortSignal.any([signal, stop.signal]), cancel };
}
