// RunHistory remembers the last runs of the keys of one controller: their causes, writes and outcomes. It exists only when the inspector is
// on. Filled by controller-sources.ts, the queue and controller-runner.ts; shown by manager-inspection.ts.
import type { ErrorText } from '@kapstan/api/internal';
import type { RunItem, RunWrite } from '@kapstan/inspector';
import { isTerminalError, type ReconcileOutcome } from '../reconcile/reconcile-loop.ts';
import type { Causes, NextWake, WakeCauses } from './wake-causes.ts';

const maxKeys = 10_000;
const maxRuns = 5;
/** Maximum number of writes that are kept of a failed run that is not the last one. */
const maxKeptWrites = 4;

interface Writes {
  readonly items: RunWrite[];
  more: number;
}

/** A run, updated while it lasts. Times are of the wall clock. */
export interface Run {
  readonly startedAt: number;
  readonly attempt: number;
  causes: Causes;
  writes: Writes;
  durationMs: number | undefined;
  result: RunItem['result'];
  error: string | undefined;
}

export interface KeyHistory {
  /** Runs in the order of their starts. */
  readonly runs: Run[];
  /** Failures in a row, and when the first of them ended. */
  failures: number;
  failingSince: number;
}

export interface RunHistoryOptions {
  readonly causes: WakeCauses;
  /** Describes the error of a run. */
  readonly errorText: ErrorText;
}

/**
 * Memory: the last 5 runs of the 10 000 keys that ran last, and for as many waiting keys 4 causes. The last run of a key has 4 causes and 20
 * writes, a failed one before it 4 of each, any other a number. That is about 24 MB where a run writes two objects, and 70 MB where all of
 * 10 000 keys fail and write 20 each time.
 */
export class RunHistory {
  readonly #causes: WakeCauses;
  readonly errorText: ErrorText;
  /** Keys in the order of their last runs. */
  readonly #keys = new Map<string, KeyHistory>();
  readonly #failing = new Map<string, KeyHistory>();
  #runs = 0;
  #failures = 0;

  constructor({ causes, errorText }: RunHistoryOptions) {
    this.#causes = causes;
    this.errorText = errorText;
  }

  /** Offset from monotonic times to wall clock times, as measured at the start. */
  get epochMs(): number {
    return this.#causes.epochMs;
  }

  /** Numbers of runs that have ended, and of those that failed. */
  get counts(): { readonly runs: number; readonly failures: number } {
    return { runs: this.#runs, failures: this.#failures };
  }

  get keys(): ReadonlyMap<string, KeyHistory> {
    return this.#keys;
  }

  /** Keys whose last run failed, starting with the one that has failed longest. */
  get failing(): ReadonlyMap<string, KeyHistory> {
    return this.#failing;
  }

  /** Returns the run of a key that is in work. */
  currentOf(key: string): Run | undefined {
    return this.#keys.get(key)?.runs.at(-1);
  }

  pendingOf(key: string): Causes | undefined {
    return this.#causes.pendingOf(key);
  }

  begin(key: string, attempt: number): Run {
    const causes = this.#causes.takenOf(key)?.causes ?? { items: [], more: 0 };
    const run: Run = {
      startedAt: this.now(),
      attempt,
      causes,
      writes: { items: [], more: 0 },
      durationMs: undefined,
      result: 'running',
      error: undefined,
    };
    const history = this.#keys.get(key) ?? { runs: [], failures: 0, failingSince: 0 };
    const last = history.runs.at(-1);
    if (last !== undefined) thinOut(last);
    history.runs.push(run);
    if (history.runs.length > maxRuns) history.runs.shift();
    this.#keys.delete(key);
    this.#keys.set(key, history);
    if (this.#keys.size > maxKeys) this.#forgetOldest();
    return run;
  }

  /**
   * Records the end of a run, and how its key comes back by itself, if it does. Called before the key is added again.
   */
  ended(key: string, run: Run, next: NextWake | undefined): void {
    run.durationMs = this.now() - run.startedAt;
    this.#causes.willWakeBy(key, next);
  }

  /** Counts the outcome of a run, and notes it in the history of its key. */
  outcome(outcome: ReconcileOutcome): void {
    const { key } = outcome.request;
    const history = this.#keys.get(key);
    const run = history?.runs.at(-1);
    this.#runs++;
    if (outcome.type === 'failed') this.#failures++;
    if (history === undefined || run === undefined) return;
    if (outcome.type === 'succeeded') {
      run.result = 'succeeded';
      history.failures = 0;
      this.#failing.delete(key);
      return;
    }
    run.result = isTerminalError(outcome.error) ? 'gave up' : 'failed';
    run.error = this.errorText(outcome.error);
    if (history.failures === 0) history.failingSince = this.now();
    history.failures++;
    this.#failing.set(key, history);
  }

  #forgetOldest(): void {
    const oldest = this.#keys.keys().next();
    if (oldest.done) return;
    this.#keys.delete(oldest.value);
    this.#failing.delete(oldest.value);
  }

  /** Returns the wall clock time, based on the offset at the start. */
  now(): number {
    return this.#causes.now();
  }
}

/** Shortens a run that another one follows: a failed run keeps its causes and first writes, any other only their numbers. */
function thinOut(run: Run): void {
  const hasFailed = run.result === 'failed' || run.result === 'gave up';
  if (!hasFailed) run.causes = { items: [], more: run.causes.items.length + run.causes.more };
  const items = run.writes.items.slice(0, hasFailed ? maxKeptWrites : 0);
  run.writes = { items, more: run.writes.items.length + run.writes.more - items.length };
}
