// repeatEvery repeats work after each pause until its owner closes. With it a server renews its identity objects (server-identity,
// kubernetes-service) and repairs the addresses and ports given to services.
import { type Clock, delay } from '@kapstan/api';

export interface RepeatOptions {
  readonly clock: Clock;
  /** Pause in milliseconds between the end of one run and the start of the next, and before the first. */
  readonly intervalMs: number;
  readonly signal: AbortSignal;
}

/** Resolves once the signal is aborted and no run is in progress. Rejects when `work` does, so `work` must not reject. */
export async function repeatEvery(
  { clock, intervalMs, signal }: RepeatOptions,
  work: () => Promise<unknown>,
): Promise<void> {
  const isOver = (): Promise<boolean> =>
    delay(clock, intervalMs, signal).then(
      () => false,
      () => true,
    );
  while (!(await isOver())) await work();
}
