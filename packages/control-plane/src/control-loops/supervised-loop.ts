// SupervisedLoop restarts one control loop, with growing pauses, whenever it ends unexpectedly. It also reports the loop's state to /readyz
// and the metrics. It sits between control-loops.ts and a loop.
import { type Clock, delay } from '@kapstan/api';
import { Backoff } from '@kapstan/api/internal';
import type { ControlLoop, ControlLoopContext } from './control-loop.ts';
import { LoopActivity } from './loop-activity.ts';

export interface SupervisedLoopOptions {
  readonly name: string;
  readonly loop: ControlLoop;
  readonly context: Omit<ControlLoopContext, 'onSynced' | 'activity'>;
}

type State =
  | { readonly phase: 'syncing' }
  | { readonly phase: 'running' }
  | { readonly phase: 'down'; readonly error: Error };

/**
 * Pauses before a restart. A loop that ran for ten minutes starts again with the shortest. There is no jitter, because no other process
 * restarts together with it.
 */
const pauses = { initialMs: 1000, maxMs: 60_000, factor: 2, jitter: 0, resetAfterMs: 600_000 };

export class SupervisedLoop {
  readonly name: string;
  readonly activity: LoopActivity;
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
    this.activity = new LoopActivity(this.#clock);
  }

  /** Number of restarts. */
  get restarts(): number {
    return this.#restarts;
  }

  get phase(): State['phase'] {
    return this.#state.phase;
  }

  /** The reason for which the loop last ended unexpectedly; it is kept while the loop runs again. */
  get lastError(): Error | undefined {
    return this.#lastError;
  }

  get isRunning(): boolean {
    return this.#state.phase === 'running';
  }

  /** True once the loop has synced, whatever its state is now. */
  get hasSynced(): boolean {
    return this.#hasSynced;
  }

  /** Returns the reason why the loop is not ready; undefined when it is. */
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

  /** Resolves when the loop has synced; stays pending until then, also when the loop fails or ends. */
  whenSynced(): Promise<void> {
    if (this.isRunning) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.add(resolve));
  }

  /** Runs the loop until the signal aborts; never rejects. Call it once. */
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
      if (signal.aborted) return logger.error('the control loop failed to stop', { error: error.stack });
      const pauseMs = backoff.next();
      logger.error('the control loop ended unexpectedly; restarting after a pause', { error: error.stack, pauseMs });
      // The delay rejects only when the signal aborts.
      const isOver = await delay(this.#clock, pauseMs, signal).then(
        () => false,
        () => true,
      );
      if (isOver) return;
      this.#restarts++;
      this.#state = { phase: 'syncing' };
    }
  }

  /** Returns the reason why the run ended; undefined when it was asked to stop. */
  async #runOnce(signal: AbortSignal): Promise<Error | undefined> {
    // Each run has its own signal, so that leftovers of a failed run, such as workers, do not continue next to the new
    // one.
    const run = new AbortController();
    const stop = (): void => run.abort(signal.reason);
    if (signal.aborted) stop();
    signal.addEventListener('abort', stop, { once: true });
    const { loop, context } = this.#options;
    try {
      const working = loop(
        { ...context, activity: this.activity, onSynced: () => this.#synced(run.signal) },
        run.signal,
      );
      context.informers.start();
      await working;
      return signal.aborted ? undefined : new Error('the control loop ended unexpectedly');
    } catch (error) {
      if (signal.aborted && error === signal.reason) return undefined;
      return error instanceof Error ? error : new Error(String(error));
    } finally {
      signal.removeEventListener('abort', stop);
      run.abort(new Error('the control loop ended'));
    }
  }

  #synced(run: AbortSignal): void {
    // This run has ended already.
    if (run.aborted) return;
    this.#state = { phase: 'running' };
    this.#hasSynced = true;
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }
}
