// Counters and durations by labels, for the metrics of admission.
import {
  counterFamily,
  DurationHistogram,
  histogramFamily,
  LabelSeries,
  type Labels,
  type MetricFamily,
} from '@kapstan/api/internal';

export class CountSeries {
  readonly #series = new LabelSeries(() => ({ value: 0 }));

  add(labels: Labels, by: number = 1): void {
    this.#series.of(JSON.stringify(labels), () => labels).value += by;
  }

  family(name: string, help: string): MetricFamily {
    return counterFamily(
      name,
      help,
      this.#series.samples(({ value }) => value),
    );
  }
}

export class DurationSeries {
  readonly #series: LabelSeries<DurationHistogram>;

  /** `buckets`: upper bounds in seconds. */
  constructor(buckets: readonly number[]) {
    this.#series = new LabelSeries(() => new DurationHistogram(buckets));
  }

  observe(labels: Labels, durationMs: number): void {
    this.#series.of(JSON.stringify(labels), () => labels).observe(durationMs);
  }

  family(name: string, help: string): MetricFamily {
    return histogramFamily(
      name,
      help,
      this.#series.samples((histogram) => histogram.counts()),
    );
  }
}
