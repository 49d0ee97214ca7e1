// repeatEvery: work that is done again after each pause, until its owner closes. How a server keeps in the store what it says of
// itself (server-identity, kubernetes-service) and looks at what services were given.
import { type Clock, delay } from '@kapstan/api';

export interface RepeatOptions {
  readonly clock: Clock;
  /** Between the end of one and the start of the next, and before the first. */
  readonly intervalMs: number;
  readonly signal: AbortSignal;
}

/** Resolves once the signal is aborted and nothing is under way. Rejects when `work` does, so it must not. */
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
