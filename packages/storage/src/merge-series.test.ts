import {
  DurationHistogram,
  formatMetrics,
  Histogram,
  type HistogramCounts,
  type MetricFamily,
} from '@kapstan/api/internal';
import { describe, expect, it } from 'vitest';
import { mergeSeries } from './merge-series.ts';

describe('families of metrics', () => {
  it('are text that Prometheus reads', () => {
    const waits = new DurationHistogram([0.1, 1]);
    for (const ms of [50, 100, 700, 5_000]) waits.observe(ms);
    const samples = [{ labels: { group: 'a"b\\', resource: 'x\ny' }, value: 3 }];
    const text = formatMetrics([
      { name: 'n_total', help: 'N.', type: 'counter', samples },
      { name: 'w_seconds', help: 'W.', type: 'histogram', samples: [{ labels: { r: 'pods' }, value: waits.counts() }] },
    ]);
    expect(text).toBe(
      [
        '# HELP n_total N.',
        '# TYPE n_total counter',
        'n_total{group="a\\"b\\\\",resource="x\\ny"} 3',
        '# HELP w_seconds W.',
        '# TYPE w_seconds histogram',
        'w_seconds_bucket{r="pods",le="0.1"} 2',
        'w_seconds_bucket{r="pods",le="1"} 3',
        'w_seconds_bucket{r="pods",le="+Inf"} 4',
        'w_seconds_sum{r="pods"} 5.85',
        'w_seconds_count{r="pods"} 4',
        '',
      ].join('\n'),
    );
  });

  it('have no braces where there are no labels', () => {
    const counts = new Histogram([10]);
    for (const value of [1, 10, 11]) counts.observe(value);
    const samples = [{ labels: {}, value: counts.counts() }];
    expect(formatMetrics([{ name: 'n', help: 'N.', type: 'histogram', samples }])).toContain(
      'n_bucket{le="10"} 2\nn_bucket{le="+Inf"} 3\nn_sum 22\nn_count 3\n',
    );
  });

  it.each<[string, MetricFamily['type'], readonly MetricFamily['samples'][number]['value'][], unknown, string?]>([
    ['counters are added up', 'counter', [1, 2, 4], 7],
    ['the last gauge is shown', 'gauge', [1, 2, 4], 4],
    ['a gauge that counts is added up', 'gauge', [1, 2, 4], 7, 'etcd_bookmark_counts'],
    ['histograms are added up', 'histogram', [counted(1), counted(5, 20)], counted(1, 5, 20)],
  ])('have each series once: %s', (_what, type, values, merged, name = 'n') => {
    const labels = { resource: 'a' };
    const other = { labels: { resource: 'b' }, value: 9 };
    const samples = [...values.map((value) => ({ labels: { ...labels }, value })), other];
    const family = { name, help: 'N.', type, samples };
    expect(mergeSeries([family])).toEqual([{ ...family, samples: [{ labels, value: merged }, other] }]);
  });
});

function counted(...values: readonly number[]): HistogramCounts {
  const histogram = new Histogram([2, 10]);
  for (const value of values) histogram.observe(value);
  return histogram.counts();
}
