import { configMap, FakeListerWatcher, testConfigMaps, VirtualClock } from '@kapstan/api/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import { InformerMetrics } from './informer-metrics.ts';
import { SharedInformer } from './shared-informer.ts';
import { SharedInformerFactory } from './shared-informer-factory.ts';

let metrics: InformerMetrics;
let clock: VirtualClock;
beforeEach(() => {
  metrics = new InformerMetrics();
  clock = new VirtualClock();
});

const linesOf = (name: string) =>
  metrics
    .metrics()
    .split('\n')
    .filter((line) => line.startsWith(name));
const labels = 'name="test",group="",version="v1",resource="configmaps"';

async function started(maps: FakeListerWatcher<ReturnType<typeof configMap>>, name = 'test') {
  const informer = new SharedInformer(maps, { resource: testConfigMaps, clock, metrics: metrics.named(name) });
  informer.start();
  await informer.whenSynced();
  return informer;
}

describe('the metrics of informers', () => {
  it('tell what waits, how long changes took with their handlers, and the version of the cache', async () => {
    const maps = new FakeListerWatcher();
    maps.add(configMap({ name: 'a' }));
    const informer = new SharedInformer(maps, { resource: testConfigMaps, clock, metrics: metrics.named('test') });
    let waiting: readonly string[] = [];
    informer.addEventHandler({
      onAdd: () => {
        waiting = linesOf('informer_queued_items');
        void clock.advance(30);
      },
    });
    maps.add(configMap({ name: 'b' }));
    informer.start();
    await informer.whenSynced();
    expect(waiting).toEqual([`informer_queued_items{${labels}} 0`]);
    expect(linesOf('informer_queued_items')).toEqual([`informer_queued_items{${labels}} 0`]);
    const version = informer.indexer.resourceVersion;
    expect(linesOf('informer_store')).toEqual([`informer_store_resource_version{${labels}} ${version}`]);
    expect(linesOf('informer_processing_latency_seconds_count')).toEqual([
      `informer_processing_latency_seconds_count{${labels}} 2`,
    ]);
    expect(linesOf('informer_processing_latency_seconds_bucket')[3]).toContain('le="0.025"');
    await informer.close();
  });

  it('count the time of changes in seconds', () => {
    const measure = metrics
      .named('test')
      .measure({ resource: testConfigMaps, queued: () => 0, resourceVersion: () => '' });
    measure?.processed(30);
    const counts = linesOf('informer_processing_latency_seconds_bucket').map((line) => line.split(' ').at(-1));
    expect(counts.slice(2, 5)).toEqual(['0', '0', '1']);
  });

  it('begin with the start and end with the informer, whose name is free again', async () => {
    const maps = new FakeListerWatcher();
    const informer = await started(maps);
    await informer.close();
    expect(linesOf('informer_')).toEqual([]);
    const next = await started(maps);
    expect(linesOf('informer_queued_items')).toHaveLength(1);
    await next.close();
  });

  it('are those of the first informer of a kind under a name', async () => {
    const maps = new FakeListerWatcher();
    const first = await started(maps);
    const second = await started(maps);
    await second.close();
    expect(linesOf('informer_queued_items')).toEqual([`informer_queued_items{${labels}} 0`]);
    const other = await started(maps, 'other');
    expect(linesOf('informer_queued_items')).toHaveLength(2);
    await Promise.all([first.close(), other.close()]);
  });

  it('show no version that is no number, and of a long one the last 15 digits', () => {
    const versions = ['', 'abc', '12345678901234567890'];
    for (const [index, resourceVersion] of versions.entries())
      metrics
        .named(`n${index}`)
        .measure({ resource: undefined, queued: () => 0, resourceVersion: () => resourceVersion });
    expect(linesOf('informer_store')).toEqual([
      'informer_store_resource_version{name="n2",group="",version="",resource=""} 678901234567890',
    ]);
  });

  it('are given to all informers of a factory', async () => {
    const maps = new FakeListerWatcher();
    const factory = new SharedInformerFactory(
      { listerWatcher: () => maps as never },
      { metrics: metrics.named('test') },
    );
    factory.informer(testConfigMaps);
    expect(linesOf('informer_queued_items')).toEqual([`informer_queued_items{${labels}} 0`]);
    await factory.close();
  });

  it('are of both informers of a kind that is cached whole and as metadata alone', async () => {
    const sources = [new FakeListerWatcher(), new FakeListerWatcher()];
    sources[1]?.add(configMap({ name: 'a' }));
    const factory = new SharedInformerFactory(
      { listerWatcher: (_resource, scope) => sources[scope?.metadataOnly ? 1 : 0] as never },
      { metrics: metrics.named('test'), clock },
    );
    factory.informer(testConfigMaps);
    const informer = factory.metadataInformer(testConfigMaps);
    informer.start();
    await informer.whenSynced();
    const ofMetadata = 'name="test:metadata",group="",version="v1",resource="configmaps"';
    expect(linesOf('informer_queued_items')).toEqual([
      `informer_queued_items{${labels}} 0`,
      `informer_queued_items{${ofMetadata}} 0`,
    ]);
    expect(linesOf('informer_processing_latency_seconds_count')).toEqual([
      `informer_processing_latency_seconds_count{${labels}} 0`,
      `informer_processing_latency_seconds_count{${ofMetadata}} 1`,
    ]);
    await factory.close();
  });

  it('need a name', () => {
    expect(() => metrics.named('')).toThrow(new TypeError('informer name cannot be empty'));
    expect(() => new SharedInformer(new FakeListerWatcher(), { metrics: {} as never })).toThrow(TypeError);
  });
});
