// NumberSeries: numbers by labels, for counters and gauges of rare events. It writes out the labels at each call; code that counts every
// request keeps a LabelSeries, whose keys are short.
import { type Labels, type MetricSample, seriesText } from './metric-family.ts';

export class NumberSeries {
  readonly #series = new Map<string, { readonly labels: Labels; value: number }>();

  add(labels: Labels, count: number = 1): void {
    this.#of(labels).value += count;
  }

  set(labels: Labels, value: number): void {
    this.#of(labels).value = value;
  }

  remove(labels: Labels): void {
    this.#series.delete(seriesText(labels));
  }

  /** Returns the samples in the order in which they were first counted. */
  samples(): readonly MetricSample[] {
    return [...this.#series.values()].map(({ labels, value }) => ({ labels, value }));
  }

  #of(labels: Labels): { value: number } {
    const key = seriesText(labels);
    const series = this.#series.get(key) ?? { labels, value: 0 };
    this.#series.set(key, series);
    return series;
  }
}
