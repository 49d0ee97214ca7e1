// Exponential backoff with jitter and a reset window, computed like client-go's wait.BackoffManager: a pure step and a
// class.
import type { Clock } from './clock.ts';

export interface BackoffOptions {
  /** First delay, in milliseconds. Above 0. */
  readonly initialMs: number;
  /** Largest base delay, in milliseconds. */
  readonly maxMs: number;
  /** Multiplier from one delay to the next. At least 1. */
  readonly factor: number;
  /** Each delay d becomes d + U[0,1) · jitter · d. 0 = none. */
  readonly jitter: number;
  /**
   * The sequence starts again when a delay is requested longer than this after its last start, in milliseconds. 0 =
   * never.
   */
  readonly resetAfterMs: number;
}

/** The state of a sequence of delays. */
export interface BackoffState {
  /** Base of the next delay, in milliseconds. */
  readonly nextMs: number;
  /** When the sequence last started, on the monotonic clock. */
  readonly startedAtMs: number;
}

/** The time of a step, and the one random number that it may use. */
export interface Moment {
  /** Monotonic clock, in milliseconds. */
  readonly nowMs: number;
  /** Uniform in [0, 1). */
  readonly random: number;
}

export function startBackoff(options: BackoffOptions, nowMs: number): BackoffState {
  return { nextMs: options.initialMs, startedAtMs: nowMs };
}

/** The start of the sequence, on the monotonic clock. */
export function stepBackoff(
  options: BackoffOptions,
  state: BackoffState,
  { nowMs, random }: Moment,
): { readonly delayMs: number; readonly state: BackoffState } {
  const { resetAfterMs, factor, maxMs, jitter } = options;
  // The window counts from the last start, not from the last failure. Source: apimachinery util/wait
  // (Backoff.DelayWithReset).
  const isOver = resetAfterMs > 0 && nowMs - state.startedAtMs > resetAfterMs;
  const { nextMs, startedAtMs } = isOver ? startBackoff(options, nowMs) : state;
  return {
    delayMs: nextMs + random * jitter * nextMs,
    state: { nextMs: Math.min(nextMs * factor, maxMs), startedAtMs },
  };
}

/** A sequence of delays. It is deterministic except for the given random source. */
export class Backoff {
  readonly #options: BackoffOptions;
  readonly #clock: Clock;
  readonly #random: () => number;
  #state: BackoffState;

  constructor(options: BackoffOptions, ports: { readonly clock: Clock; readonly random?: () => number }) {
    this.#options = options;
    this.#clock = ports.clock;
    this.#random = ports.random ?? Math.random;
    this.#state = startBackoff(options, this.#clock.monotonicNow());
  }

  /** Returns the delay to wait now, in milliseconds; the next call returns a longer one. */
  next(): number {
    const step = stepBackoff(this.#options, this.#state, { nowMs: this.#clock.monotonicNow(), random: this.#random() });
    this.#state = step.state;
    return step.delayMs;
  }
}
