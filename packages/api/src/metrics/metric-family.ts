// MetricFamily: samples under one name, and their text as Prometheus reads it. Counting code keeps plain numbers and turns them into
// families when they are requested.
import type { HistogramCounts } from './histogram.ts';

export type Labels = Readonly<Record<string, string>>;

/** A sample of a metric: labels and value. */
export interface MetricSample {
  readonly labels: Labels;
  readonly value: number | HistogramCounts;
}

/** A metric with its samples, as the text format of Prometheus has it. */
export interface MetricFamily {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly samples: readonly MetricSample[];
}

/** Text for /metrics. A registry of prom-client implements it too. */
export interface MetricsText {
  metrics(): string | Promise<string>;
}

type MakeFamily = (name: string, help: string, samples: number | readonly MetricSample[]) => MetricFamily;

const familyOf =
  (type: MetricFamily['type']): MakeFamily =>
  (name, help, samples) => ({
    name,
    help,
    type,
    samples: typeof samples === 'number' ? [{ labels: {}, value: samples }] : samples,
  });

/** A family of counts; a number is its one sample, without labels. */
export const counterFamily: MakeFamily = familyOf('counter');
/** A family of numbers that rise and fall; a number is its one sample, without labels. */
export const gaugeFamily: MakeFamily = familyOf('gauge');
export const histogramFamily: MakeFamily = familyOf('histogram');

/** Writes the families in the text format of Prometheus, version 0.0.4. */
export function formatMetrics(families: readonly MetricFamily[]): string {
  const lines: string[] = [];
  for (const { name, help, type, samples } of families) {
    lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`);
    for (const sample of samples)
      for (const { metricName, labels, value } of plainSamples(name, sample))
        lines.push(`${metricName}${seriesText(labels)} ${value}`);
  }
  return lines.map((line) => `${line}\n`).join('');
}

/** One line of a metric; the sample of a histogram has several. */
export interface PlainSample {
  /** The family's name, followed by "_bucket", "_sum" or "_count" for histograms. */
  readonly metricName: string;
  readonly labels: Labels;
  readonly value: number;
}

/** Returns the lines of a sample of the family of this name. */
export function plainSamples(name: string, { labels, value }: MetricSample): readonly PlainSample[] {
  if (typeof value === 'number') return [{ metricName: name, labels, value }];
  const bucket = (le: string, below: number): PlainSample => ({
    metricName: `${name}_bucket`,
    labels: { ...labels, le },
    value: below,
  });
  return [
    ...value.buckets.map(([bound, below]) => bucket(String(bound), below)),
    bucket('+Inf', value.count),
    { metricName: `${name}_sum`, labels, value: value.sum },
    { metricName: `${name}_count`, labels, value: value.count },
  ];
}

/** Returns the labels as Prometheus writes them: `{verb="GET"}`; "" for none. Equal texts name the same series. */
export function seriesText(labels: Labels): string {
  const escaped = (value: string): string => value.replace(/[\\"\n]/g, (c) => (c === '\n' ? '\\n' : `\\${c}`));
  const texts = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value)}"`);
  return texts.length === 0 ? '' : `{${texts.join(',')}}`;
}
