// RunsUnderWay tracks the work of one controller's workers: the signal and time limit of each run, warnings about long
// runs, and the keys of runs that do not end. Used by controller-runner.ts.

import type { CancelTimer, Clock, Logger } from '@kapstan/api';
import { addAbortListener, removeAbortListener } from '@kapstan/api/internal';

export interface RunsUnderWayOptions {
  readonly clock: Clock;
  /** Names the controller in each line. */
  readonly log: Logger;
  /** Time after which the signal of a run aborts, in milliseconds. 0 = never. */
  readonly timeoutMs: number;
  /** Called for each run that was aborted because of its time limit. */
  readonly onTimeout?: () => void;
  /** Time after which a warning names a run, and again each time that it has doubled, in milliseconds. 0 = never. */
  readonly slowAfterMs: number;
}

export interface RunUnderWay {
  readonly signal: AbortSignal;
  /** Call it when the run has ended. */
  end(): void;
}

export class RunsUnderWay {
  readonly #options: RunsUnderWayOptions;
  // Invariant: a key is here once, because the queue gives it to one worker at a time.
  readonly #keys = new Set<string>();

  constructor(options: RunsUnderWayOptions) {
    this.#options = options;
  }

  /** Keys of the objects that are being reconciled, the longest one first. */
  get keys(): readonly string[] {
    return [...this.#keys];
  }

  /** Records the start of a run, with the signal of its loop. */
  begin(key: string, outer: AbortSignal): RunUnderWay {
    this.#keys.add(key);
    const { signal, end } = this.#limited(key, outer);
    const cancelWarning = this.#warnWhenSlow(key);
    return {
      signal,
      end: () => {
        this.#keys.delete(key);
        cancelWarning();
        end();
      },
    };
  }

  #limited(key: string, outer: AbortSignal): RunUnderWay {
    const { clock, log, timeoutMs } = this.#options;
    if (timeoutMs === 0) return { signal: outer, end: () => undefined };
    const own = new AbortController();
    const onAbort = (): void => own.abort(outer.reason);
    if (outer.aborted) onAbort();
    addAbortListener(outer, onAbort);
    const cancel = clock.setTimer(() => {
      log.warn('a reconcile took longer than its timeoutMs; its signal is aborted', { key, timeoutMs });
      this.#options.onTimeout?.();
      own.abort(new Error(`the reconcile took longer than ${timeoutMs} ms`));
    }, timeoutMs);
    const end = (): void => {
      cancel();
      removeAbortListener(outer, onAbort);
    };
    return { signal: own.signal, end };
  }

  #warnWhenSlow(key: string): CancelTimer {
    const { clock, log, slowAfterMs } = this.#options;
    if (slowAfterMs === 0) return () => undefined;
    const startedAtMs = clock.monotonicNow();
    let cancel: CancelTimer = () => undefined;
    const arm = (pauseMs: number): void => {
      cancel = clock.setBackgroundTimer(() => {
        const runningMs = clock.monotonicNow() - startedAtMs;
        log.warn('a reconcile has not ended; it blocks its worker', { key, runningMs });
        arm(runningMs);
      }, pauseMs);
    };
    arm(slowAfterMs);
    return () => cancel();
  }
}
