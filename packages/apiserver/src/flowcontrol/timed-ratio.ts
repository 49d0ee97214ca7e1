// TimedRatio is a histogram of a ratio over time: each bucket counts the nanoseconds for which the ratio was at most its bound. Used by
// priority-level.ts and in-flight-requests.ts for /metrics. Source: metrics/timing_ratio_histogram.go, prometheusextension.
import type { HistogramCounts } from '@kapstan/api/internal';

const nanosecondsPerMs = 1e6;

export class TimedRatio {
  readonly #bounds: readonly number[];
  readonly #nanoseconds: number[];
  #numerator = 0;
  #denominator = 1;
  #bucket = 0;
  #ratio = 0;
  #sum = 0;
  #sinceMs: number;

  /** `bounds` must be in rising order. */
  constructor(bounds: readonly number[], nowMs: number) {
    this.#bounds = bounds;
    this.#nanoseconds = [...bounds, 0].map(() => 0);
    this.#sinceMs = nowMs;
  }

  set(numerator: number, nowMs: number): void {
    if (numerator === this.#numerator) return;
    this.#numerator = numerator;
    this.#change(nowMs);
  }

  setDenominator(denominator: number, nowMs: number): void {
    if (denominator === this.#denominator) return;
    this.#denominator = denominator;
    this.#change(nowMs);
  }

  counts(nowMs: number): HistogramCounts {
    this.#add(nowMs);
    let below = 0;
    const buckets = this.#bounds.map((bound, i): readonly [number, number] => {
      below += this.#nanoseconds[i] ?? 0;
      return [bound, Math.round(below)];
    });
    const count = Math.round(below + (this.#nanoseconds[this.#bounds.length] ?? 0));
    return { buckets, count, sum: this.#sum };
  }

  #change(nowMs: number): void {
    this.#add(nowMs);
    this.#ratio = this.#numerator / this.#denominator;
    let bucket = 0;
    while (bucket < this.#bounds.length && this.#ratio > (this.#bounds[bucket] ?? 0)) bucket++;
    this.#bucket = bucket;
  }

  #add(nowMs: number): void {
    const nanoseconds = (nowMs - this.#sinceMs) * nanosecondsPerMs;
    this.#sinceMs = nowMs;
    this.#nanoseconds[this.#bucket] = (this.#nanoseconds[this.#bucket] ?? 0) + nanoseconds;
    this.#sum += nanoseconds * this.#ratio;
  }
}
