// WakeCauses remembers what woke the keys of one controller, from the wake until the run has ended. It exists only when the inspector or
// traces are on. Filled by controller-sources.ts and the queue; read by run-history.ts and by tracing/run-tracer.ts.
import type { Clock } from '@kapstan/api';
import type { TraceLink } from '@kapstan/api/internal';
import type { ChangedObject, WakeCause } from '@kapstan/inspector';
import { isTerminalError } from '../reconcile/reconcile-loop.ts';
import type { WorkQueueObserver } from '../workqueue/index.ts';

const maxKeys = 10_000;
const maxCauses = 4;

/** The causes that woke a key before its next run. */
export interface Causes {
  readonly items: WakeCause[];
  more: number;
}

/** A key that was woken. Times are of the monotonic clock. */
export interface Wake {
  readonly causes: Causes;
  /** Spans that led to the changes, if the objects name them. */
  readonly links: TraceLink[];
  readonly wokenAtMs: number;
  /** The time when a worker took the key. */
  takenAtMs: number;
}

/** Says how the key of an ended run comes back. */
export type NextWake = 'retry' | 'requeueAfter' | 'requeue';

/** The reason for which a key is added. */
export interface WakeReason {
  readonly type: WakeCause['type'];
  readonly object?: ChangedObject | undefined;
  readonly link?: TraceLink | undefined;
}

/** Memory bound: 4 causes for each of 10 000 waiting keys, and for those being processed. */
export class WakeCauses {
  readonly #clock: Clock;
  /** Offset from monotonic times to wall clock times, as measured at the start. */
  readonly epochMs: number;
  /** Waiting keys, and keys that a worker has taken. */
  readonly #pending = new Map<string, Wake>();
  readonly #taken = new Map<string, Wake>();
  /** How the key of the last run will come back, until it does. */
  readonly #next = new Map<string, NextWake>();

  constructor(clock: Clock) {
    this.#clock = clock;
    this.epochMs = Math.round(clock.now() - clock.monotonicNow());
  }

  /** Receives events about keys of the queue. */
  readonly observer: WorkQueueObserver<string> = {
    // A worker takes the key in the same turn; later causes count for the next run.
    started: (key) => {
      const wake = this.#pending.get(key);
      this.#pending.delete(key);
      if (wake === undefined) return;
      wake.takenAtMs = this.#clock.monotonicNow();
      this.#taken.set(key, wake);
    },
    finished: (key) => void this.#taken.delete(key),
    retried: (key, delayMs) => {
      if (!(delayMs > 0)) this.#wakeAgain(key);
    },
    released: (key) => this.#wakeAgain(key),
  };

  /** Records the reason why a key is added. Call it before adding the key. */
  wake(key: string, { type, object, link }: WakeReason): void {
    const known = this.#pending.get(key);
    if (known === undefined && this.#pending.size >= maxKeys) return;
    const cause = { type, at: this.now(), object };
    if (known === undefined) {
      const wokenAtMs = this.#clock.monotonicNow();
      const links = link === undefined ? [] : [link];
      this.#pending.set(key, { causes: { items: [cause], more: 0 }, links, wokenAtMs, takenAtMs: wokenAtMs });
      return;
    }
    const { causes, links } = known;
    if (causes.items.length < maxCauses) causes.items.push(cause);
    else causes.more++;
    if (link !== undefined && links.length < maxCauses) links.push(link);
  }

  /**
   * Records how the key of an ended run comes back; undefined = not by itself. Called before the key is added again.
   */
  willWakeBy(key: string, next: NextWake | undefined): void {
    if (next === undefined) this.#next.delete(key);
    else if (this.#next.size < maxKeys) this.#next.set(key, next);
  }

  pendingOf(key: string): Causes | undefined {
    return this.#pending.get(key)?.causes;
  }

  /** Returns what woke a key that is being processed. */
  takenOf(key: string): Wake | undefined {
    return this.#taken.get(key);
  }

  #wakeAgain(key: string): void {
    this.wake(key, { type: this.#next.get(key) ?? 'requeue' });
    this.#next.delete(key);
  }

  /** Returns the wall clock time, based on the offset at the start. */
  now(): number {
    return Math.round(this.epochMs + this.#clock.monotonicNow());
  }
}

/** Returns how the key of a failed run comes back. Nothing retries after a terminal error. */
export function nextWakeAfter(error: unknown): NextWake | undefined {
  return isTerminalError(error) ? undefined : 'retry';
}

/** Returns how the key of a successful run comes back. */
export function nextWakeOf(requeueAfterMs: number | undefined): NextWake | undefined {
  if (requeueAfterMs === undefined) return undefined;
  return requeueAfterMs > 0 ? 'requeueAfter' : 'requeue';
}
