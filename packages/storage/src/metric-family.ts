// MetricFamily: samples under one name, and their text as Prometheus reads it. Made by store-metrics.ts and the cacher.
import type { HistogramCounts } from './histogram.ts';

export interface MetricSample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number | HistogramCounts;
}

export interface MetricFamily {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly samples: readonly MetricSample[];
}

type Labels = MetricSample['labels'];

/** A gauge that every store adds to; kube-apiserver has a single gauge for them all. */
const countingGauge = 'etcd_bookmark_counts';

/**
 * Returns the families with each series once. Samples share labels when two stores hold one resource: counts are added
 * up, and of gauges the last one is shown, except {@link countingGauge}. kube-apiserver's shared counters give the same
 * result.
 */
export function mergeSeries(families: readonly MetricFamily[]): MetricFamily[] {
  return families.map((family) => {
    const merged = new Map<string, MetricSample>();
    for (const sample of family.samples) {
      const series = labelText(sample.labels);
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

/** Writes the families in the text format of Prometheus, version 0.0.4. */
export function formatMetrics(families: readonly MetricFamily[]): string {
  const lines: string[] = [];
  for (const { name, help, type, samples } of families) {
    lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`);
    for (const { labels, value } of samples) {
      if (typeof value === 'number') lines.push(`${name}${labelText(labels)} ${value}`);
      else lines.push(...histogramLines(name, labels, value));
    }
  }
  return lines.map((line) => `${line}\n`).join('');
}

function histogramLines(name: string, labels: Labels, { buckets, count, sum }: HistogramCounts): string[] {
  const bucket = (le: string, below: number): string => `${name}_bucket${labelText({ ...labels, le })} ${below}`;
  return [
    ...buckets.map(([bound, below]) => bucket(String(bound), below)),
    bucket('+Inf', count),
    `${name}_sum${labelText(labels)} ${sum}`,
    `${name}_count${labelText(labels)} ${count}`,
  ];
}

function labelText(labels: Labels): string {
  const escaped = (value: string): string => value.replace(/[\\"\n]/g, (c) => (c === '\n' ? '\\n' : `\\${c}`));
  const texts = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value)}"`);
  return texts.length === 0 ? '' : `{${texts.join(',')}}`;
}
