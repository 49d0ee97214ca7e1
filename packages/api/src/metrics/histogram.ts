// Histogram counts values in buckets as Prometheus wants them, for code too busy for a metrics library. metric-family.ts prints it.

/** A histogram's counts so far. They never go down. */
export interface HistogramCounts {
  /**
   * Upper bounds, each with the number of values up to it; `count` is the number of all values. Durations are in
   * seconds.
   */
  readonly buckets: readonly (readonly [bound: number, count: number])[];
  readonly count: number;
  readonly sum: number;
}

export class Histogram {
  readonly #bounds: readonly number[];
  readonly #counts: number[];
  #count = 0;
  #sum = 0;

  /** `bounds` must be in rising order. */
  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.#counts = bounds.map(() => 0);
  }

  observe(value: number): void {
    this.#count++;
    this.#sum += value;
    let bucket = 0;
    while (bucket < this.#bounds.length && value > (this.#bounds[bucket] ?? 0)) bucket++;
    if (bucket < this.#counts.length) this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1;
  }

  counts(): HistogramCounts {
    let below = 0;
    const buckets = this.#bounds.map((bound, i): readonly [number, number] => {
      below += this.#counts[i] ?? 0;
      return [bound, below];
    });
    return { buckets, count: this.#count, sum: this.#sum };
  }
}

/** A histogram of seconds whose values are given in milliseconds. */
export class DurationHistogram {
  readonly #seconds: Histogram;

  /** `bounds` are in seconds. */
  constructor(bounds: readonly number[]) {
    this.#seconds = new Histogram(bounds);
  }

  observe(ms: number): void {
    this.#seconds.observe(ms / 1_000);
  }

  counts(): HistogramCounts {
    return this.#seconds.counts();
  }
}
