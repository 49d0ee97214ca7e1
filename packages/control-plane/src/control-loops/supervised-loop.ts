// SupervisedLoop: one control loop that is started again, later and later, whenever it ends before it is told to; and how it
// stands, for /readyz and the metrics. Between control-loops.ts and a loop.

import { type Clock, delay } from '@kapstan/api';
import { Backoff } from '@kapstan/api/internal';
import type { ControlLoop, ControlLoopContext } from './control-loop.ts';

export interface SupervisedLoopOptions {
  readonly name: string;
  readonly loop: ControlLoop;
  readonly context: Omit<ControlLoopContext, 'onSynced'>;
}

type State =
  | { readonly phase: 'syncing' }
  | { readonly phase: 'running' }
  | { readonly phase: 'down'; readonly error: Error };

/** Pauses before a new start. One that has worked for ten minutes begins with the shortest again. No jitter: it is alone. */
const pauses = { initialMs: 1000, maxMs: 60_000, factor: 2, jitter: 0, resetAfterMs: 600_000 };

export class SupervisedLoop {
  readonly name: string;
  readonly #options: SupervisedLoopOptions;
  readonly #clock: Clock;
  readonly #waiting = new Set<() => void>();
  #state: State = { phase: 'syncing' };
  #lastError: Error | undefined;
  #restarts = 0;
  #hasSynced = false;

  constructor(options: SupervisedLoopOptions) {
    this.name = options.name;
    this.#options = options;
    this.#clock = options.context.clock;
  }

  /** How often it was started again. */
  get restarts(): number {
    return this.#restarts;
  }

  get isRunning(): boolean {
    return this.#state.phase === 'running';
  }

  /** It did its work once, whatever it does now. */
  get hasSynced(): boolean {
    return this.#hasSynced;
  }

  /** Why it does not do its work; undefined when it does. */
  readiness(): Error | undefined {
    switch (this.#state.phase) {
      case 'running':
        return undefined;
      case 'down':
        return this.#state.error;
      case 'syncing':
        return this.#lastError ?? new Error('not finished');
    }
  }

  /** Resolves when it has seen all that it works on. Pends while it has not, also when it fails or ends. */
  whenSynced(): Promise<void> {
    if (this.isRunning) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.add(resolve));
  }

  /** Works until the signal aborts; never rejects. Once. */
  async run(signal: AbortSignal): Promise<void> {
    const { logger } = this.#options.context;
    const backoff = new Backoff(pauses, { clock: this.#clock });
    for (;;) {
      const error = await this.#runOnce(signal);
      if (error === undefined) {
        this.#state = { phase: 'syncing' };
        return;
      }
      this.#state = { phase: 'down', error };
      this.#lastError = error;
      if (signal.aborted) return logger.error('The control loop failed to stop', { error: error.stack });
      const pauseMs = backoff.next();
      logger.error('The control loop ended; it will be started again', { error: error.stack, pauseMs });
      // Rejects for the signal alone.
      const isOver = await delay(this.#clock, pauseMs, signal).then(
        () => false,
        () => true,
      );
      if (isOver) return;
      this.#restarts++;
      this.#state = { phase: 'syncing' };
    }
  }

  /** Why it ended; undefined when it was told to. */
  async #runOnce(signal: AbortSignal): Promise<Error | undefined> {
    // A signal for each run: what a failed one has left, such as workers, must not go on beside the next one.
    const run = new AbortController();
    const stop = (): void => run.abort(signal.reason);
    if (signal.aborted) stop();
    signal.addEventListener('abort', stop, { once: true });
    const { loop, context } = this.#options;
    try {
      const working = loop({ ...context, onSynced: () => this.#synced(run.signal) }, run.signal);
      context.informers.start();
      await working;
      return signal.aborted ? undefined : new Error('the control loop ended without being told to');
    } catch (error) {
      if (signal.aborted && error === signal.reason) return undefined;
      return error instanceof Error ? error : new Error(String(error));
    } finally {
      signal.removeEventListener('abort', stop);
      run.abort(new Error('the control loop ended'));
    }
  }

  #synced(run: AbortSignal): void {
    // Too late: this run is over.
    if (run.aborted) return;
    this.#state = { phase: 'running' };
    this.#hasSynced = true;
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }
}
