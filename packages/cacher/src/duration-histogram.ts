// DurationHistogram: durations counted in buckets, as Prometheus wants them, without a metrics library. Filled by the parts
// of the cacher, shown by inspect().

/** Counts never go back. */
export interface HistogramCounts {
  /** Upper bounds in seconds with the number of durations up to each; that of all is `count`. */
  readonly buckets: readonly (readonly [bound: number, count: number])[];
  readonly count: number;
  /** In seconds. */
  readonly sum: number;
}

/** Bounds in seconds. Source: k8s.io/apiserver cacher/metrics. */
export const readWaitBounds: readonly number[] = [0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3];
export const initializationBounds: readonly number[] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
export const dispatchBounds: readonly number[] = [0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5];

export class DurationHistogram {
  readonly #bounds: readonly number[];
  readonly #counts: number[];
  #count = 0;
  #sum = 0;

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.#counts = bounds.map(() => 0);
  }

  observe(ms: number): void {
    const seconds = ms / 1_000;
    this.#count++;
    this.#sum += seconds;
    let bucket = 0;
    while (bucket < this.#bounds.length && seconds > (this.#bounds[bucket] ?? 0)) bucket++;
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
