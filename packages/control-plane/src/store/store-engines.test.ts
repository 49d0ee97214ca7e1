import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Revision, silentLogger, systemClock } from '@kapstan/api';
import { VirtualClock } from '@kapstan/api/testing';
import { CustomResourceDefinition } from '@kapstan/kinds/apiextensions.k8s.io/v1';
import { ConfigMap, Namespace, Event as OldEvent } from '@kapstan/kinds/core/v1';
import { Event } from '@kapstan/kinds/events.k8s.io/v1';
import { isStorageError, type KeyRange, MemoryEngine, StorageError } from '@kapstan/storage';
import { openEtcdEngine } from '@kapstan/storage-etcd';
import { findEtcd, howToInstall, startEtcd } from '@kapstan/storage-etcd/testing';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { startControlPlane } from '../control-plane.ts';
import { Closers } from '../lifetime/closers.ts';
import { openResources, type Resources } from '../resources.ts';
import { openStoreEngines, type StoreEngines } from './store-engines.ts';
import { storePages } from './store-pages.ts';

const everything: KeyRange = { start: '/', end: '0' };
const widgets = {
  metadata: { name: 'configmaps.test.io' },
  spec: {
    group: 'test.io',
    scope: 'Namespaced' as const,
    names: { plural: 'configmaps', singular: 'widget', kind: 'Widget', listKind: 'WidgetList' },
    versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
  },
};

describe('resources in two stores', () => {
  let clock: VirtualClock;
  let main: MemoryEngine;
  let other: MemoryEngine;
  let engines: StoreEngines;
  let resources: Resources;

  beforeEach(async () => {
    clock = new VirtualClock();
    [main, other] = [new MemoryEngine({ clock }), new MemoryEngine({ clock })];
    engines = {
      main,
      all: [main, other],
      engineFor: ({ resource }) => (resource === 'configmaps' ? other : main),
    };
    resources = await openResources(engines, { clock, logger: silentLogger, sizePollMs: 500 });
    await resources.client.create(Namespace, { metadata: { name: 'ns' } });
  });
  afterEach(async () => {
    await resources.close();
    await main.close();
    await other.close();
  });

  it('are healthy and ready when both stores are', async () => {
    const ask = async (name: string): Promise<string | undefined> =>
      (await resources.healthChecks.find((check) => check.name === name)?.check())?.message;
    expect([await ask('etcd'), await ask('etcd-readiness')]).toEqual([undefined, undefined]);
    const down = (): Promise<never> => Promise.reject(new StorageError({ code: 'Unreachable', message: 'the other' }));
    other.checkHealth = down;
    expect(await ask('etcd')).toContain('the other');
    other.checkReadiness = down;
    expect(await ask('etcd-readiness')).toContain('the other');
  });

  it('show the size of each', async () => {
    await clock.advance(500);
    const text = await resources.metrics.metrics();
    for (const [index, engine] of engines.all.entries()) {
      const size = await engine.storedBytes();
      expect(text).toContain(`apiserver_storage_size_bytes{storage_cluster_id="etcd-${index}"} ${size}\n`);
    }
  });

  it('are compacted each to its own revision', async () => {
    for (let i = 0; i < 5; i += 1) {
      await resources.client.create(ConfigMap, { metadata: { namespace: 'ns', name: `c${i}` } });
    }
    const forgotten: unknown[] = [];
    const forgetBefore = (engine: unknown, revision: number): void => {
      forgotten.push([engine === other ? 'other' : 'main', revision]);
    };
    const pages = storePages({ engines, workDir: tmpdir(), forgetBefore });
    const revisions = [await main.currentRevision(), await other.currentRevision()];
    const answer = await pages.find(({ path }) => path.endsWith('/compact'))?.respond({ origin: '' } as never);
    expect(JSON.parse(String(answer?.body))).toEqual({ revision: revisions[0] });
    expect([main.compactRevision(), other.compactRevision()]).toEqual(revisions);
    expect(forgotten.toSorted()).toEqual([
      ['main', revisions[0]],
      ['other', revisions[1]],
    ]);
    const stats = await pages.find(({ path }) => path.endsWith('/stats'))?.respond({ origin: '' } as never);
    const [revision, theirs] = revisions;
    const [fileBytes, theirBytes] = [await main.storedBytes(), await other.storedBytes()];
    expect(JSON.parse(String(stats?.body))).toEqual({
      revision,
      compactRevision: revision,
      fileBytes,
      overrides: [{ revision: theirs, compactRevision: theirs, fileBytes: theirBytes }],
    });
  });
});

it('hold the embedded store to the quota that the options name', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'kapstan-quota-'));
  const closers = new Closers({ clock: systemClock, logger: silentLogger });
  onTestFinished(async () => {
    await closers.closeAll();
    await rm(dataDir, { recursive: true });
  });
  const ports = { clock: systemClock, logger: silentLogger, closers };
  const { main } = await openStoreEngines({ dataDir, quotaBytes: 300_000 }, ports);
  const change = { type: 'put', value: Buffer.alloc(100_000) } as const;
  const put = (key: string) => main.commit({ key, expectedRevision: 0 as Revision, change });
  const outcomes = await Promise.allSettled(['/a', '/b', '/c', '/d', '/e'].map(put));
  const refused = outcomes.filter(({ status }) => status === 'rejected') as PromiseRejectedResult[];
  expect(refused.length).toBeGreaterThan(0);
  for (const { reason } of refused) expect(isStorageError(reason, 'Full')).toBe(true);
});

describe('startControlPlane with resources that have another etcd', () => {
  it.each([
    ['the embedded store', undefined],
    ['a store that was given', new MemoryEngine()],
  ])('refuses them beside %s', async (_what, engine) => {
    const dataDir = await mkdtemp(join(tmpdir(), 'kapstan-stores-'));
    onTestFinished(() => rm(dataDir, { recursive: true }));
    const etcdOverrides = [{ group: '', resource: 'events', endpoints: ['http://127.0.0.1:1'] }];
    const started = startControlPlane({ dataDir, etcdOverrides, http: 'off', ...(engine && { engine }) });
    await expect(started).rejects.toThrow(
      'etcdOverrides: a resource can have its own etcd cluster only when the store is an etcd cluster',
    );
  });
});

const binary = findEtcd();
if (binary === undefined) console.warn(`SKIPPED: no resource on an etcd of its own: no etcd found; ${howToInstall}`);

describe.skipIf(binary === undefined)('two etcd clusters', () => {
  it('keep what is named in the one, and all else, custom resources of its name too, in the other', {
    timeout: 60_000,
  }, async () => {
    const [[main], [other]] = await Promise.all([
      startEtcd({ binary: binary ?? '' }),
      startEtcd({ binary: binary ?? '' }),
    ]);
    const dataDir = await mkdtemp(join(tmpdir(), 'kapstan-stores-'));
    const endpoints = [other.endpoint];
    const options = {
      dataDir,
      etcd: { endpoints: [main.endpoint] },
      etcdOverrides: [
        { group: '', resource: 'configmaps', endpoints },
        { group: '', resource: 'events', endpoints },
        { group: 'test.io', resource: 'configmaps', endpoints },
      ],
      http: 'off',
    } as const;
    const plane = await startControlPlane(options);
    onTestFinished(async () => {
      await plane.close();
      await Promise.all([main.remove(), other.remove()]);
      await rm(dataDir, { recursive: true });
    });
    const { client } = plane;
    await client.create(ConfigMap, { metadata: { namespace: 'default', name: 'a' } });
    await client.create(CustomResourceDefinition, widgets);
    const involvedObject = { namespace: 'default' };
    await client.create(OldEvent, { metadata: { namespace: 'default', name: 'old' }, involvedObject });
    await client.create(Event, { metadata: { namespace: 'default', name: 'new' }, ...why });
    expect((await client.listPage(ConfigMap, { namespace: 'default' })).items).toHaveLength(1);
    expect(await keysOf(other.endpoint)).toEqual([
      '/registry/configmaps/default/a',
      '/registry/events/default/new',
      '/registry/events/default/old',
    ]);
    const inMain = await keysOf(main.endpoint);
    expect(inMain).toContain('/registry/namespaces/default');
    expect(inMain.filter((key) => /configmaps\/|events/.test(key))).toEqual([]);
  });

  it('tell which flag named a cluster that cannot be reached', { timeout: 60_000 }, async () => {
    const [main] = await startEtcd({ binary: binary ?? '' });
    const dataDir = await mkdtemp(join(tmpdir(), 'kapstan-stores-'));
    onTestFinished(async () => {
      await main.remove();
      await rm(dataDir, { recursive: true });
    });
    const etcdOverrides = [{ group: '', resource: 'events', endpoints: ['http://127.0.0.1:1'] }];
    const etcd = { endpoints: [main.endpoint], dialTimeoutMs: 2_000 };
    await expect(startControlPlane({ dataDir, etcd, etcdOverrides, http: 'off' })).rejects.toThrow(/^etcdOverrides: /);
  });
});

const why = {
  eventTime: '2026-01-01T00:00:00.000000Z',
  reportingController: 'a.io/b',
  reportingInstance: 'i',
  action: 'Do',
  reason: 'Why',
  type: 'Normal',
  regarding: { namespace: 'default' },
};

async function keysOf(endpoint: string): Promise<readonly string[]> {
  const engine = await openEtcdEngine({ endpoints: [endpoint] });
  try {
    const { kvs } = await engine.range(everything);
    return kvs.map(({ key }) => key).filter((key) => key.startsWith('/registry/'));
  } finally {
    await engine.close();
  }
}
