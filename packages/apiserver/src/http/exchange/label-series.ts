// LabelSeries: the values of a metric by its labels, for what counts every request: plain numbers that become text when somebody
// asks, where a metrics library looks at all labels each time. Used by server-metrics.ts and access-metrics.ts.
import type { MetricSample } from '@kapstan/storage';

export type Labels = MetricSample['labels'];

export class LabelSeries<V> {
  readonly #make: () => V;
  readonly #series = new Map<string, { readonly labels: Labels; readonly value: V }>();

  /** `make`: a value that nothing was counted in. */
  constructor(make: () => V) {
    this.#make = make;
  }

  /** The value of the labels. `key` stands for them: equal keys have equal labels, which are asked for once. */
  of(key: string, labels: () => Labels): V {
    const known = this.#series.get(key);
    if (known !== undefined) return known.value;
    const value = this.#make();
    this.#series.set(key, { labels: labels(), value });
    return value;
  }

  /** In the order in which they first came. What is read as undefined is left out. */
  samples(read: (value: V) => MetricSample['value'] | undefined): MetricSample[] {
    return this.flatSamples((value, labels) => {
      const shown = read(value);
      return shown === undefined ? [] : [{ labels, value: shown }];
    });
  }

  /** Several samples of each value. */
  flatSamples(read: (value: V, labels: Labels) => readonly MetricSample[]): MetricSample[] {
    return [...this.#series.values()].flatMap(({ labels, value }) => read(value, labels));
  }
}
