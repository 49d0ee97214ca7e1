import { formatMetrics, Histogram, LabelSeries } from '@kapstan/api/internal';
import { Counter, Registry, Histogram as TheirHistogram } from 'prom-client';
import { expect, it } from 'vitest';

/** Returns the lines of a text for Prometheus with labels and families in a fixed order. */
function linesOf(text: string): string[] {
  const sorted = (labels: string): string =>
    `{${labels
      .split(/,(?=[a-z_]+=")/)
      .sort()
      .join(',')}}`;
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => line.replace(/\{(.*)\}/, (_all, labels: string) => sorted(labels)))
    .sort();
}

const buckets = [0.005, 0.1, 1, 2.5, 60];
const observed: readonly (readonly [verb: string, code: string, seconds: number])[] = [
  ['GET', '200', 0.004],
  ['GET', '200', 0.005],
  ['GET', '404', 0.3],
  ['LIST "x"\n\\', '200', 61],
  ['GET', '200', 2.5],
  ['POST', '201', 0],
];

it('numbers by labels are told as prom-client tells them', async () => {
  const registry = new Registry();
  const [help, registers] = ['What was asked.', [registry]];
  const total = new Counter({ name: 'requests_total', help, labelNames: ['verb', 'code'], registers });
  const seconds = new TheirHistogram({ name: 'request_seconds', help, labelNames: ['verb'], buckets, registers });
  const series = new LabelSeries(() => ({ codes: new Map<string, number>(), seconds: new Histogram(buckets) }));
  for (const [verb, code, took] of observed) {
    total.inc({ verb, code });
    seconds.observe({ verb }, took);
    const counts = series.of(verb, () => ({ verb }));
    counts.codes.set(code, (counts.codes.get(code) ?? 0) + 1);
    counts.seconds.observe(took);
  }
  const samples = series.flatSamples(({ codes }, labels) =>
    [...codes].map(([code, value]) => ({ labels: { ...labels, code }, value })),
  );
  const ours = formatMetrics([
    { name: 'requests_total', help, type: 'counter', samples },
    { name: 'request_seconds', help, type: 'histogram', samples: series.samples((counts) => counts.seconds.counts()) },
  ]);
  expect(linesOf(ours)).toEqual(linesOf(await registry.metrics()));
});

it('labels are asked for once, and what is read as undefined is left out', () => {
  const series = new LabelSeries(() => ({ value: 0 }));
  let asked = 0;
  const labels = (): { verb: string } => ({ verb: `V${++asked}` });
  for (const key of ['a', 'b', 'a', 'a']) series.of(key, labels).value++;
  expect(series.samples(({ value }) => (value > 1 ? value : undefined))).toEqual([
    { labels: { verb: 'V1' }, value: 3 },
  ]);
  expect(asked).toBe(2);
});
