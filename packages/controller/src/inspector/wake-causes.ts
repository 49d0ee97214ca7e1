// WakeCauses remembers what woke the keys of one controller, from the wake until the run has ended. Exists where the inspector or traces are
// on. Told by controller-sources.ts and the queue; read by run-history.ts and by tracing/run-tracer.ts.
import type { Clock } from '@kapstan/api';
import type { TraceLink } from '@kapstan/api/internal';
import type { ChangedObject, WakeCause } from '@kapstan/inspector';
import { isTerminalError } from '../reconcile-loop.ts';
import type { WorkQueueObserver } from '../workqueue/index.ts';

const maxKeys = 10_000;
const maxCauses = 4;

/** What woke a key before its next run. */
export interface Causes {
  readonly items: WakeCause[];
  more: number;
}

/** A key that was woken. Times are of the monotonic clock. */
export interface Wake {
  readonly causes: Causes;
  /** Spans that led to the changes, as far as the objects name them. */
  readonly links: TraceLink[];
  readonly wokenAtMs: number;
  /** When a worker took the key. */
  takenAtMs: number;
}

/** How a run that has ended comes back. */
export type NextWake = 'retry' | 'requeueAfter' | 'requeue';

/** Why a key is added. */
export interface WakeReason {
  readonly type: WakeCause['type'];
  readonly object?: ChangedObject | undefined;
  readonly link?: TraceLink | undefined;
}

/** Memory: 4 causes for each of 10 000 waiting keys, and for those in work. */
export class WakeCauses {
  readonly #clock: Clock;
  /** Added to monotonic times it gives those of the wall clock, as it was at the start. */
  readonly epochMs: number;
  /** Keys that wait, and keys that a worker has taken. */
  readonly #pending = new Map<string, Wake>();
  readonly #taken = new Map<string, Wake>();
  /** What the last run asked for, until the key comes back. */
  readonly #next = new Map<string, NextWake>();

  constructor(clock: Clock) {
    this.#clock = clock;
    this.epochMs = Math.round(clock.now() - clock.monotonicNow());
  }

  /** Tells what happens to keys of the queue. */
  readonly observer: WorkQueueObserver<string> = {
    // A worker takes the key in the same turn; what comes later counts for the next run.
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

  /** Records why a key is added. Call it before it is added. */
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

  /** Records how a run that has ended comes back; undefined = not by itself. Called before the key is put back. */
  willWakeBy(key: string, next: NextWake | undefined): void {
    if (next === undefined) this.#next.delete(key);
    else if (this.#next.size < maxKeys) this.#next.set(key, next);
  }

  pendingOf(key: string): Causes | undefined {
    return this.#pending.get(key)?.causes;
  }

  /** Returns what woke a key that is in work. */
  takenOf(key: string): Wake | undefined {
    return this.#taken.get(key);
  }

  #wakeAgain(key: string): void {
    this.wake(key, { type: this.#next.get(key) ?? 'requeue' });
    this.#next.delete(key);
  }

  /** The wall clock, as it was at the start. */
  now(): number {
    return Math.round(this.epochMs + this.#clock.monotonicNow());
  }
}

/** Returns how a run comes back that failed. Nothing tries again after a terminal error. */
export function nextWakeAfter(error: unknown): NextWake | undefined {
  return isTerminalError(error) ? undefined : 'retry';
}

/** Returns how a run comes back that ended well. */
export function nextWakeOf(requeueAfterMs: number | undefined): NextWake | undefined {
  if (requeueAfterMs === undefined) return undefined;
  return requeueAfterMs > 0 ? 'requeueAfter' : 'requeue';
}
