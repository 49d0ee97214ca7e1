// Merges the series of stores that hold the same resource. Used by the code that serves /metrics.
import { type MetricFamily, type MetricSample, seriesText } from '@kapstan/api/internal';

/** A gauge that every store adds to; kube-apiserver has a single gauge for them all. */
const countingGauge = 'etcd_bookmark_counts';

/**
 * Returns the families with each series once. Where two stores hold one resource, counts and `countingGauge` are added
 * up, and of other gauges the last one is shown. kube-apiserver's shared counters give the same result.
 */
export function mergeSeries(families: readonly MetricFamily[]): MetricFamily[] {
  return families.map((family) => {
    const merged = new Map<string, MetricSample>();
    for (const sample of family.samples) {
      const series = seriesText(sample.labels);
      const earlier = family.name !== countingGauge && family.type === 'gauge' ? undefined : merged.get(series);
      merged.set(series, earlier === undefined ? sample : { ...sample, value: sumOf(earlier.value, sample.value) });
    }
    return { ...family, samples: [...merged.values()] };
  });
}

/** Adds two values of one type. Histograms of one family have the same bounds. */
function sumOf(a: MetricSample['value'], b: MetricSample['value']): MetricSample['value'] {
  if (typeof a === 'number' || typeof b === 'number') return Number(a) + Number(b);
  return {
    buckets: a.buckets.map(([bound, below], index) => [bound, below + (b.buckets[index]?.[1] ?? 0)]),
    count: a.count + b.count,
    sum: a.sum + b.sum,
  };
}
