// Names, labels and values of metrics. Covers TestHistogramCacheReadWait, TestListMetrics and the metrics of the Go
// library (storage/cacher/metrics).
import { settle } from '@kapstan/api/testing';
import { StorageError } from '@kapstan/storage';
import { describe, expect, it } from 'vitest';
import { cacherMetrics } from './cacher-metrics.ts';
import { openCacherBench } from './testing/cacher-bench.ts';

const { bench, parts } = openCacherBench();

function metrics() {
  return cacherMetrics([{ group: '', resource: 'pods', inspection: parts().cacher.inspect() }]);
}

/** Returns the value of a family's sample with these labels besides group and resource. */
function value(name: string, labels: Readonly<Record<string, string>> = {}): unknown {
  const family = metrics().find((each) => each.name === name);
  const wanted = JSON.stringify({ group: '', resource: 'pods', ...labels });
  return family?.samples.find((sample) => JSON.stringify(sample.labels) === wanted)?.value;
}

describe('the metrics of a Cacher', () => {
  it('carry the names of kube-apiserver', async () => {
    await parts().start();
    expect(metrics().map(({ name }) => name)).toEqual(
      expect.arrayContaining([
        'apiserver_watch_cache_events_received_total',
        'apiserver_watch_cache_events_dispatched_total',
        'apiserver_watch_cache_resource_version',
        'apiserver_watch_cache_initializations_total',
        'apiserver_watch_cache_initialization_errors_total',
        'apiserver_watch_cache_initialization_duration_seconds',
        'apiserver_watch_cache_read_wait_seconds',
        'apiserver_watch_cache_consistent_read_total',
        'watch_cache_capacity',
        'watch_cache_capacity_increase_total',
        'watch_cache_capacity_decrease_total',
        'apiserver_init_events_total',
        'kapstan_watch_cache_ended_watches_total',
        'apiserver_storage_consistency_checks_total',
        'apiserver_watch_events_dispatch_duration_seconds',
      ]),
    );
    await bench.list();
    for (const name of ['total', 'fetched_objects_total', 'returned_objects_total'])
      expect(value(`apiserver_cache_list_${name}`, { index: '' })).toBeDefined();
  });

  it('count events, initial events, lists that failed, and growth of the history', async () => {
    const { cacher, clock, engine } = parts();
    let fails = 2;
    engine.beforeOperation = (operation) => {
      if (operation === 'range' && fails-- > 0) throw new StorageError({ code: 'Unreachable' });
    };
    cacher.start();
    await clock.advance(1_000);
    await cacher.waitUntilReady();
    for (let i = 0; i < 101; i++) await bench.create(`p${i}`);
    await bench.caughtUp();
    await bench.watch().received(101);
    expect(value('apiserver_watch_cache_initialization_errors_total')).toBe(2);
    expect(value('apiserver_watch_cache_initializations_total')).toBe(1);
    expect(value('apiserver_watch_cache_initialization_duration_seconds')).toMatchObject({ count: 1 });
    expect(value('apiserver_watch_cache_events_received_total')).toBe(101);
    expect(value('apiserver_watch_cache_events_dispatched_total')).toBe(101);
    expect(value('apiserver_init_events_total')).toBe(101);
    expect(value('watch_cache_capacity')).toBe(200);
    expect(value('watch_cache_capacity_increase_total')).toBe(1);
    await parts().relist();
    expect(value('kapstan_watch_cache_ended_watches_total', { reason: 'relist' })).toBe(1);
    expect(value('kapstan_watch_cache_ended_watches_total', { reason: 'overrun' })).toBe(0);
    expect(value('apiserver_watch_cache_resource_version')).toBe(await engine.currentRevision());
  });

  it('observe the wait of a read only when there was one', async () => {
    const { cacher, clock } = parts();
    await parts().start();
    const { revision } = await bench.create('a');
    await bench.caughtUp();
    const before = cacher.inspect().durations.readWait.count;
    await bench.list({ resourceVersion: '0' });
    await bench.list({ resourceVersion: String(revision) });
    expect(cacher.inspect().durations.readWait.count).toBe(before);
    const future = bench.list({ resourceVersion: String(revision + 1) });
    await settle();
    await clock.advance(700);
    await bench.create('b');
    await future;
    const { count, buckets, sum } = cacher.inspect().durations.readWait;
    expect([count, sum >= 0.7]).toEqual([before + 1, true]);
    expect(buckets.find(([bound]) => bound === 0.6)?.[1]).toBe(before);
    expect(buckets.find(([bound]) => bound === 0.8)?.[1]).toBe(before + 1);
  });

  it('distinguish consistent reads from the cache, those that fell back, and those that failed', async () => {
    const { clock, engine } = parts();
    await parts().start();
    await bench.list();
    parts().loseProgress();
    await bench.create('a');
    await Promise.all([bench.list(), clock.advance(3_000)]);
    engine.beforeOperation = (operation) => {
      if (operation === 'range') throw new StorageError({ code: 'Unreachable' });
    };
    await Promise.all([bench.list().catch(() => undefined), clock.advance(3_000)]);
    const reads = 'apiserver_watch_cache_consistent_read_total';
    expect(value(reads, { success: 'true', fallback: 'false' })).toBe(1);
    expect(value(reads, { success: 'true', fallback: 'true' })).toBe(1);
    expect(value(reads, { success: 'false', fallback: 'true' })).toBe(1);
  });
});
