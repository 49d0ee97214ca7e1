// LabelSeries: the values of a metric by their labels, for metrics that count every request. It keeps plain numbers and
// makes text only on a scrape, where a metrics library would look at all labels each time. Used by servers'
// metrics and request-metrics.ts.
import type { Labels, MetricSample } from './metric-family.ts';

export class LabelSeries<V> {
  readonly #make: () => V;
  readonly #series = new Map<string, { readonly labels: Labels; readonly value: V }>();

  /** `make` returns a new value with nothing counted in it. */
  constructor(make: () => V) {
    this.#make = make;
  }

  /**
   * Returns the value of the labels. Equal keys must mean equal labels, because `labels` is called only once per key.
   */
  of(key: string, labels: () => Labels): V {
    const known = this.#series.get(key);
    if (known !== undefined) return known.value;
    const value = this.#make();
    this.#series.set(key, { labels: labels(), value });
    return value;
  }

  /** Returns one sample per value, in order of first use. Values for which `read` returns undefined are left out. */
  samples(read: (value: V) => MetricSample['value'] | undefined): MetricSample[] {
    return this.flatSamples((value, labels) => {
      const shown = read(value);
      return shown === undefined ? [] : [{ labels, value: shown }];
    });
  }

  /** Returns several samples per value. */
  flatSamples(read: (value: V, labels: Labels) => readonly MetricSample[]): MetricSample[] {
    return [...this.#series.values()].flatMap(({ labels, value }) => read(value, labels));
  }
}
