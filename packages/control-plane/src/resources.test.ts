import { silentLogger } from '@kapstan/api';
import { VirtualClock } from '@kapstan/api/testing';
import { CustomResourceDefinition } from '@kapstan/kinds/apiextensions.k8s.io/v1';
import { ConfigMap, Namespace } from '@kapstan/kinds/core/v1';
import { MemoryEngine, StorageError } from '@kapstan/storage';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openResources, type Resources } from './resources.ts';
import { singleEngine } from './testing/single-engine.ts';

let clock: VirtualClock;
let engine: MemoryEngine;
let resources: Resources | undefined;

beforeEach(() => {
  clock = new VirtualClock();
  engine = new MemoryEngine({ clock });
});
afterEach(async () => {
  await resources?.close();
  await engine.close();
});

describe('openResources', () => {
  it.each([
    [undefined, '/registry/'],
    ['custom/prefix', '/custom/prefix/'],
    ['/a//./b/../c/', '/a/c/'],
    ['', '/'],
  ])('keeps everything below the prefix %j', async (keyPrefix, begin) => {
    resources = await openResources(singleEngine(engine), {
      clock,
      logger: silentLogger,
      keyPrefix,
    });
    await resources.client.create(Namespace, { metadata: { name: 'ns' } });
    await resources.client.create(ConfigMap, { metadata: { namespace: 'ns', name: 'a' } });
    expect((await resources.client.get(ConfigMap, { namespace: 'ns', name: 'a' })).metadata?.name).toBe('a');
    const { kvs } = await engine.range({ start: '/', end: '0' });
    expect(kvs.map((kv) => kv.key)).toEqual([`${begin}configmaps/ns/a`, `${begin}namespaces/ns`]);
    expect((await resources.client.listPage(ConfigMap)).items.length).toBe(1);
  });

  it('lets the health check "etcd" say what the store says of its health', async () => {
    resources = await openResources(singleEngine(engine), { clock, logger: silentLogger });
    const check = resources.healthChecks.find(({ name }) => name === 'etcd');
    expect(await check?.check()).toBeUndefined();
    engine.checkHealth = () => Promise.reject(new StorageError({ code: 'Unreachable', message: 'no leader' }));
    expect(String(await check?.check())).toContain('no leader');
    // Reads still work meanwhile: the health check does not depend on them.
    expect(await engine.currentRevision()).toBeGreaterThan(0);
  });

  it('lets the readiness check "etcd-readiness" say what the store says of its readiness', async () => {
    resources = await openResources(singleEngine(engine), { clock, logger: silentLogger });
    const ready = resources.healthChecks.find(({ name }) => name === 'etcd-readiness');
    expect([ready?.endpoints, await ready?.check()]).toEqual([['readyz'], undefined]);
    engine.checkReadiness = () => Promise.reject(new StorageError({ code: 'Unreachable', message: 'not yet' }));
    expect(String(await ready?.check())).toContain('not yet');
  });

  it('shows what stores count, and asks again and again how many objects there are', async () => {
    resources = await openResources(singleEngine(engine), {
      clock,
      logger: silentLogger,
      countPollMs: 1_000,
      sizePollMs: 500,
    });
    await resources.client.create(Namespace, { metadata: { name: 'ns' } });
    const sample = async (name: string): Promise<string | undefined> =>
      (await resources?.metrics.metrics())
        ?.split('\n')
        .find((line) => line.startsWith(name))
        ?.slice(name.length + 1);
    expect(await sample('etcd_requests_total{operation="create",group="",resource="namespaces"}')).toBe('1');
    for (let step = 0; step < 30; step += 1) await clock.advance(100);
    expect(await sample('apiserver_resource_objects{group="",resource="namespaces"}')).toBe('1');
    expect(await sample('apiserver_storage_objects{resource="events.events.k8s.io"}')).toBe('0');
    expect(
      Number(await sample('apiserver_resource_size_estimate_bytes{group="",resource="namespaces"}')),
    ).toBeGreaterThan(0);
    expect(await sample('apiserver_storage_size_bytes{storage_cluster_id="etcd-0"}')).toBe(
      String(await engine.storedBytes()),
    );
    const fails = (): Promise<never> => Promise.reject(new StorageError({ code: 'Unreachable' }));
    Object.assign(engine, { count: fails, currentRevision: fails, storedBytes: fails });
    for (let step = 0; step < 30; step += 1) await clock.advance(100);
    expect(await sample('apiserver_resource_objects{group="",resource="namespaces"}')).toBe('-1');
    expect(await sample('apiserver_storage_size_bytes{storage_cluster_id="etcd-0"}')).toBeUndefined();
    await resources.close();
    expect(clock.pendingTimers).toBe(0);
  });

  it('shows nothing of a resource that is gone', async () => {
    resources = await openResources(singleEngine(engine), { clock, logger: silentLogger, countPollMs: 1_000 });
    const names = { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList' };
    const schema = { openAPIV3Schema: { type: 'object' } };
    const versions = [{ name: 'v1', served: true, storage: true, schema }];
    await resources.client.create(CustomResourceDefinition, {
      metadata: { name: 'widgets.test.io' },
      spec: { group: 'test.io', scope: 'Namespaced', names, versions },
    });
    const isShown = async (): Promise<boolean> =>
      (await resources?.metrics.metrics())?.includes(
        'apiserver_resource_objects{group="test.io",resource="widgets"} 0',
      ) ?? false;
    const until = async (wanted: boolean): Promise<void> => {
      for (let step = 0; step < 200 && (await isShown()) !== wanted; step += 1) await clock.advance(100);
      expect(await isShown()).toBe(wanted);
    };
    await until(true);
    await resources.client.delete(CustomResourceDefinition, { name: 'widgets.test.io' });
    await until(false);
    expect(await resources.metrics.metrics()).not.toContain('widgets');
  });

  it('counts nothing that it is told not to count', async () => {
    resources = await openResources(singleEngine(engine), {
      clock,
      logger: silentLogger,
      countPollMs: 0,
      sizePollMs: 0,
    });
    await clock.advance(200_000);
    const text = await resources.metrics.metrics();
    expect(text).toContain('etcd_requests_total{');
    expect(text).not.toContain('apiserver_resource_objects');
    expect(text).not.toContain('apiserver_storage_size_bytes');
  });
});
