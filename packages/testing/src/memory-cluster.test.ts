import { isConflict, isExpired } from '@kapstan/api';
import { SharedInformerFactory } from '@kapstan/informers';
import { ConfigMap } from '@kapstan/kinds/core/v1';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { type TestCluster, testCluster } from './test-cluster.ts';
import type { TestClusterOptions } from './test-cluster-options.ts';

// Any attempt to open a store on the disk would be recorded.
const openLmdbEngine = vi.hoisted(() => vi.fn(() => Promise.reject(new Error('no store on the disk is wanted'))));
vi.mock('@kapstan/storage-lmdb', async (original) => ({ ...(await original<object>()), openLmdbEngine }));
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const clusters: TestCluster[] = [];
const one = { namespace: 'default', name: 'one' };

async function start(options: TestClusterOptions = {}): Promise<TestCluster> {
  const cluster = await testCluster({ store: 'memory', ...options });
  clusters.push(cluster);
  return cluster;
}

afterEach(async () => {
  for (const cluster of clusters.splice(0)) await cluster.close();
});

describe('a test cluster in memory', () => {
  it('serves in process and over HTTPS, and keeps its objects across a stop', async () => {
    const cluster = await start();
    const client = await cluster.connect();
    const { metadata } = await client.create(ConfigMap, { metadata: one, data: { a: '1' } });
    await cluster.stop();
    await cluster.start();
    const found = await client.get(ConfigMap, one);
    expect(found.metadata).toEqual(metadata);
    await client.update(ConfigMap, { ...found, data: { a: '2' } });
    await expect(client.update(ConfigMap, { ...found, data: { a: '3' } })).rejects.toSatisfy(isConflict);
    expect((await cluster.client.get(ConfigMap, one)).data).toEqual({ a: '2' });
    expect(openLmdbEngine).not.toHaveBeenCalled();
  });

  it('feeds informers, also when its history is lost', async () => {
    const cluster = await start({ http: 'off' });
    const { client, clock } = cluster;
    const factory = new SharedInformerFactory(client, { clock, random: () => 0 });
    const { lister } = factory.informer(ConfigMap);
    factory.start();
    const { metadata } = await client.create(ConfigMap, { metadata: one, data: { a: '1' } });
    await cluster.settle();
    expect(lister.namespace('default').get('one').data).toEqual({ a: '1' });
    await cluster.fault({ kind: '410' });
    await client.patch(ConfigMap, one, { type: 'merge', body: { data: { a: '2' } } });
    await cluster.advance(60_000);
    expect(lister.namespace('default').get('one').data).toEqual({ a: '2' });
    const errors: unknown[] = [];
    const past = client.listerWatcher(ConfigMap).watch({ resourceVersion: metadata?.resourceVersion ?? '' });
    past.subscribe({ error: (error) => errors.push(error) });
    await cluster.settle();
    expect(errors.map(isExpired)).toEqual([true]);
    await factory.close();
  });
});
