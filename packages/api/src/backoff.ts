// Exponential backoff with jitter and a reset window, as client-go's wait.BackoffManager computes it.
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
  /** The sequence starts anew when a delay is asked for longer than this after its last start, in milliseconds. 0 = never. */
  readonly resetAfterMs: number;
}

/** A sequence of delays. Deterministic but for the random source given. */
export class Backoff {
  readonly #options: BackoffOptions;
  readonly #clock: Clock;
  readonly #random: () => number;
  #nextMs: number;
  #startedAtMs: number;

  constructor(options: BackoffOptions, ports: { readonly clock: Clock; readonly random?: () => number }) {
    this.#options = options;
    this.#clock = ports.clock;
    this.#random = ports.random ?? Math.random;
    this.#nextMs = options.initialMs;
    this.#startedAtMs = this.#clock.monotonicNow();
  }

  /** The delay to wait now, in milliseconds; the next call gives a longer one. */
  next(): number {
    const { resetAfterMs, factor, maxMs, jitter } = this.#options;
    const now = this.#clock.monotonicNow();
    if (resetAfterMs > 0 && now - this.#startedAtMs > resetAfterMs) this.reset();
    const base = this.#nextMs;
    this.#nextMs = Math.min(base * factor, maxMs);
    return base + this.#random() * jitter * base;
  }

  reset(): void {
    this.#nextMs = this.#options.initialMs;
    this.#startedAtMs = this.#clock.monotonicNow();
  }
}
