import { silentLogger } from '@kapstan/api';
import { VirtualClock } from '@kapstan/api/testing';
import { ConfigMap, Namespace } from '@kapstan/kinds/core/v1';
import { StorageError } from '@kapstan/storage';
import { MemoryEngine } from '@kapstan/storage/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openResources, type Resources } from './resources.ts';

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
    resources = await openResources(engine, {
      clock,
      logger: silentLogger,
      ...(keyPrefix === undefined ? {} : { keyPrefix }),
    });
    await resources.client.create(Namespace, { metadata: { name: 'ns' } });
    await resources.client.create(ConfigMap, { metadata: { namespace: 'ns', name: 'a' } });
    expect((await resources.client.get(ConfigMap, { namespace: 'ns', name: 'a' })).metadata?.name).toBe('a');
    const { kvs } = await engine.range({ start: '/', end: '0' });
    expect(kvs.map((kv) => kv.key)).toEqual([`${begin}configmaps/ns/a`, `${begin}namespaces/ns`]);
    expect((await resources.client.listPage(ConfigMap)).items.length).toBe(1);
  });

  it('lets the health check "etcd" say what the store says of its health', async () => {
    resources = await openResources(engine, { clock, logger: silentLogger });
    const check = resources.healthChecks.find(({ name }) => name === 'etcd');
    expect(await check?.check()).toBeUndefined();
    engine.checkHealth = () => Promise.reject(new StorageError({ code: 'Unreachable', message: 'no leader' }));
    expect(String(await check?.check())).toContain('no leader');
    // Reads go on meanwhile: they are not what is asked.
    expect(await engine.currentRevision()).toBeGreaterThan(0);
  });
});
