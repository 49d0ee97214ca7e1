// Covers TestRecordDecodeError, TestRecordEtcdEvent, TestRecordEtcdBookmark, TestRecordEtcdRequest and
// TestUpdateStoreStats of the Go library: names, labels, buckets, values.

import { formatMetrics } from '@kapstan/api/internal';
import { settle, type TestPod, VirtualClock } from '@kapstan/api/testing';
import { describe, expect, it } from 'vitest';
import { StorageError } from './errors/storage-error.ts';
import { MemoryEngine } from './memory-engine.ts';
import { ObjectStore } from './object-store.ts';
import type { StorageStats } from './storage.ts';
import { type InspectedStore, storeMetrics, storeSizeMetric } from './store-metrics.ts';
import { keyOf, podStoreOptions, predicate, StorageBench } from './testing/storage-fixture.ts';

let engine: MemoryEngine;
let store: ObjectStore<TestPod>;

const bench = new StorageBench(async () => {
  const clock = new VirtualClock();
  engine = new MemoryEngine({ clock });
  store = new ObjectStore<TestPod>({ ...podStoreOptions(engine), clock, leaseMaxObjects: 2 });
  const dispose = async (): Promise<void> => {
    await store.close();
    await engine.close();
  };
  return { storage: store, engine, clock, isCached: false, dispose };
});

const pods = { group: '', resource: 'pods' };

function text(stats?: InspectedStore['stats']): string {
  return formatMetrics(storeMetrics([{ ...pods, inspection: store.inspect(), stats }]));
}

/** Returns the value of the sample whose line begins with this text. */
function value(start: string): number | undefined {
  const line = text()
    .split('\n')
    .find((each) => each.startsWith(`${start}{`) || each.startsWith(`${start} `));
  return line === undefined ? undefined : Number(line.split(' ').at(-1));
}

function requests(operation: string, name = 'etcd_requests_total'): number | undefined {
  const start = `${name}{operation="${operation}",group="",resource="pods"} `;
  const line = text()
    .split('\n')
    .find((each) => each.startsWith(start));
  return line === undefined ? undefined : Number(line.slice(start.length));
}

describe('the metrics of a store', () => {
  it('count requests by operation, and measure them in the buckets of kube-apiserver', async () => {
    engine.beforeOperation = () => bench.fixture.clock.advance(30);
    await bench.create('a');
    await bench.update('a', { labels: { x: 'y' } });
    await bench.storage.get(keyOf('a'));
    await bench.list();
    await bench.storage.stats();
    await bench.storage.currentResourceVersion();
    await bench.remove('a');
    const counts = ['create', 'update', 'get', 'list', 'listWithCount', 'getCurrentResourceVersion', 'delete'].map(
      (operation) => requests(operation),
    );
    // Update and delete each begin with a read.
    expect(counts).toEqual([1, 1, 3, 1, 1, 1, 1]);
    const buckets = text().match(/etcd_request_duration_seconds_bucket\{operation="create".*/g) ?? [];
    const name = 'etcd_request_duration_seconds_bucket{operation="create",group="",resource="pods",le=';
    expect(buckets).toHaveLength(24);
    expect(buckets.slice(0, 4)).toEqual([
      `${name}"0.005"} 0`,
      `${name}"0.025"} 0`,
      `${name}"0.05"} 1`,
      `${name}"0.1"} 1`,
    ]);
    expect(buckets.at(-2)).toBe(`${name}"60"} 1`);
  });

  it('count requests that failed; a comparison that fails is none', async () => {
    await bench.create('a');
    await expect(bench.create('a')).rejects.toThrow('key exists');
    expect([requests('create'), requests('create', 'etcd_request_errors_total')]).toEqual([2, 0]);
    engine.beforeOperation = () => {
      throw new StorageError({ code: 'Unreachable' });
    };
    await expect(bench.storage.get(keyOf('a'))).rejects.toThrow('server unreachable');
    expect([requests('get'), requests('get', 'etcd_request_errors_total')]).toEqual([1, 1]);
  });

  it('count events and bookmarks of all watches', async () => {
    const recorder = bench.watch({ resourceVersion: '1' });
    const other = bench.watch({ resourceVersion: '1', labels: 'none=matches' });
    await settle();
    await bench.createAll('a', 'b');
    await recorder.received(2);
    await bench.storage.requestWatchProgress();
    await settle();
    expect(other.events).toHaveLength(0);
    expect(value('apiserver_storage_events_received_total')).toBe(4);
    expect([value('etcd_bookmark_total'), value('etcd_bookmark_counts')]).toEqual([2, 2]);
  });

  it('count the pages with which a watch begins as lists', async () => {
    await bench.createAll('a', 'b');
    const recorder = bench.watch({ resourceVersion: '0', sendInitialEvents: true, bookmarks: true });
    await recorder.received(3);
    expect([requests('list'), value('apiserver_storage_list_total')]).toEqual([1, 0]);
  });

  it('count values that cannot be decoded, but not those that cannot be decrypted', async () => {
    await bench.createAll('a', 'b');
    await bench.overwrite('a', 'enc:1:{');
    await bench.overwrite('b', 'garbage');
    for (const name of ['a', 'b']) await expect(bench.storage.get(keyOf(name))).rejects.toThrow();
    expect(value('apiserver_storage_decode_errors_total')).toBe(1);
  });

  it('count what lists read, look at and return', async () => {
    for (const name of ['a', 'b', 'c', 'd']) await bench.create(name, { labels: { name } });
    await bench.list({ labels: 'name=b', limit: 1 });
    await bench.storage.getList(keyOf('a'), { recursive: false, predicate: predicate() });
    const labels = '{group="",resource="pods",storage="etcd",index=""}';
    const lines = text().split('\n');
    const list = (name: string): string =>
      lines.find((line) => line.startsWith(`apiserver_storage_list_${name}{`)) ?? '';
    expect(list('total')).toBe(`apiserver_storage_list_total${labels} 2`);
    // The lists read pages of 1 and 2 keys, and then one key.
    expect(list('fetched_objects_total')).toMatch(/ 4$/);
    expect(list('evaluated_objects_total')).toMatch(/ 3$/);
    expect(list('returned_objects_total')).toMatch(/ 2$/);
    const count = 'apiserver_storage_list_duration_seconds_count{group="",resource="pods",streamed="false"} 2';
    expect(lines).toContain(count);
  });

  it('show how many keys shared a lease when the next one was granted', async () => {
    for (const name of ['a', 'b', 'c']) await bench.create(name, {}, 120);
    expect([value('etcd_lease_object_counts_count'), value('etcd_lease_object_counts_sum')]).toEqual([2, 4]);
    expect(text()).toContain('etcd_lease_object_counts_bucket{le="5000"} 2');
  });

  it.each<[string, StorageStats | 'failed', number, number]>([
    ['counted, with sizes', { objectCount: 3, averageObjectBytes: 100 }, 3, 300],
    ['counted, sizes unknown', { objectCount: 3, averageObjectBytes: 0 }, 3, -1],
    ['none', { objectCount: 0, averageObjectBytes: 0 }, 0, 0],
    ['not to be counted', 'failed', -1, -1],
  ])('show objects: %s', (_case, stats, objects, bytes) => {
    const lines = text(stats).split('\n');
    expect(lines).toContain(`apiserver_resource_objects{group="",resource="pods"} ${objects}`);
    expect(lines).toContain(`apiserver_storage_objects{resource="pods"} ${objects}`);
    expect(lines).toContain(`apiserver_resource_size_estimate_bytes{group="",resource="pods"} ${bytes}`);
  });

  it('show nothing of objects that were not counted', () => {
    expect(text()).not.toContain('apiserver_resource_objects');
  });

  it('show the size of the store', () => {
    expect(formatMetrics([storeSizeMetric(4096)])).toContain(
      'apiserver_storage_size_bytes{storage_cluster_id="etcd-0"} 4096\n',
    );
  });

  it('name a resource with its group', () => {
    const metrics = storeMetrics([
      { group: 'apps', resource: 'deployments', inspection: store.inspect(), stats: 'failed' },
    ]);
    expect(formatMetrics(metrics)).toContain('apiserver_storage_objects{resource="deployments.apps"} -1');
  });
});
