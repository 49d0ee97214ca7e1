// A clock whose time moves only when a test says so. The tests of all packages use it in place of systemClock.
import type { CancelTimer, Clock } from '../time/clock.ts';
import { nextTurn } from '../time/turn.ts';

interface Timer {
  readonly dueMs: number;
  readonly callback: () => void;
}

export interface VirtualClockOptions {
  /** Wall clock at the start, milliseconds since 1970. Default: 2026-01-01T00:00:00Z. */
  readonly startMs?: number;
}

const defaultStartMs = 1_767_225_600_000;
// A promise chain settles within one turn of the event loop; the additional turns are for code that yields through turn.ts.
const turnsToSettle = 4;

/**
 * A {@link Clock} under the control of a test. Timers run in the order of their due times, equal ones in the order in
 * which they were set. Between two timers all microtasks and immediates settle, as in real time.
 */
export class VirtualClock implements Clock {
  #monotonicMs = 0;
  #wallOffsetMs: number;
  // Invariant: insertion order decides between equal due times.
  readonly #timers = new Set<Timer>();

  constructor(options: VirtualClockOptions = {}) {
    this.#wallOffsetMs = options.startMs ?? defaultStartMs;
  }

  now(): number {
    return this.#wallOffsetMs + this.#monotonicMs;
  }

  monotonicNow(): number {
    return this.#monotonicMs;
  }

  setTimer(callback: () => void, delayMs: number): CancelTimer {
    const timer: Timer = { dueMs: this.#monotonicMs + Math.max(0, delayMs), callback };
    this.#timers.add(timer);
    return () => {
      this.#timers.delete(timer);
    };
  }

  setBackgroundTimer(callback: () => void, delayMs: number): CancelTimer {
    return this.setTimer(callback, delayMs);
  }

  /** Number of timers that have neither run nor been cancelled. */
  get pendingTimers(): number {
    return this.#timers.size;
  }

  /** Milliseconds until the next timer is due; undefined when there is none. */
  get msToNextTimer(): number | undefined {
    const next = this.#nextDue(Number.POSITIVE_INFINITY);
    return next === undefined ? undefined : next.dueMs - this.#monotonicMs;
  }

  /**
   * Advances time by `ms` milliseconds (0 = runs only timers that are due now) and runs timers that become due,
   * including those set meanwhile. Resolves when everything has settled. Rejects with the error of a timer's callback.
   */
  async advance(ms: number): Promise<void> {
    const targetMs = this.#monotonicMs + ms;
    await settle();
    for (let timer = this.#nextDue(targetMs); timer !== undefined; timer = this.#nextDue(targetMs)) {
      this.#timers.delete(timer);
      this.#monotonicMs = Math.max(this.#monotonicMs, timer.dueMs);
      timer.callback();
      await settle();
    }
    this.#monotonicMs = Math.max(this.#monotonicMs, targetMs);
  }

  /** Shifts the wall clock only, as NTP or an operator would; timers and {@link monotonicNow} do not change. */
  jumpWallClock(ms: number): void {
    this.#wallOffsetMs += ms;
  }

  #nextDue(targetMs: number): Timer | undefined {
    let next: Timer | undefined;
    for (const timer of this.#timers) {
      if (timer.dueMs <= targetMs && (next === undefined || timer.dueMs < next.dueMs)) next = timer;
    }
    return next;
  }
}

/** Resolves when all microtasks, and the immediates that they set, have run. Time does not move. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < turnsToSettle; turn++) await nextTurn();
}
