import { type LogFields, silentLogger, type UnstructuredObject } from '@kapstan/api';
import { openLmdbEngine } from '@kapstan/storage-lmdb';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  configMap,
  StoreFixture,
  testContext,
  testDefinition,
  unconditionalStrategy,
} from '../../testing/store-fixture.ts';
import { ResourceStack, type ResourceStackOptions } from './resource-stack.ts';

let fixture: StoreFixture;
const stacks: ResourceStack[] = [];
beforeEach(async () => {
  fixture = await StoreFixture.open(openLmdbEngine);
});
afterEach(async () => {
  for (const stack of stacks.splice(0)) await stack.close();
  await fixture.close();
});

const open = async (
  changes: Parameters<typeof testDefinition>[0] = {},
  options: Partial<ResourceStackOptions> = {},
): Promise<ResourceStack> => {
  const stack = new ResourceStack(testDefinition(changes), { engine: fixture.engine, freeze: true, ...options });
  stacks.push(stack);
  await stack.waitUntilReady();
  return stack;
};

describe('which resources are cached', () => {
  const deployments = { group: 'apps', resource: 'deployments' };
  it.each<[string, Parameters<typeof testDefinition>[0], Partial<ResourceStackOptions>, boolean]>([
    ['any by default', {}, {}, true],
    ['one that says so by default', { resource: 'events', uncachedByDefault: true }, {}, false],
    [
      'one that says so and has a size',
      { resource: 'events', uncachedByDefault: true },
      { watchCacheSizes: new Map([['events', 100]]) },
      true,
    ],
    ['none without a watch cache', {}, { watchCache: false, watchCacheSizes: new Map([['configmaps', 9]]) }, false],
    ['one of size 0', deployments, { watchCacheSizes: new Map([['deployments.apps', 0]]) }, false],
    ['none of default size 0', {}, { defaultWatchCacheSize: 0 }, false],
    [
      'a named one beside default size 0',
      {},
      { defaultWatchCacheSize: 0, watchCacheSizes: new Map([['configmaps', 1]]) },
      true,
    ],
    ['one of another group', deployments, { watchCacheSizes: new Map([['deployments', 0]]) }, true],
  ])('%s', async (_case, changes, options, isCached) => {
    expect((await open(changes, options)).cacher !== undefined).toBe(isCached);
  });
});

describe('the size of a watch cache', () => {
  it.each<[string, Partial<ResourceStackOptions>, number]>([
    ['100 by default', {}, 100],
    ['the default size', { defaultWatchCacheSize: 250 }, 250],
    ['its own', { defaultWatchCacheSize: 250, watchCacheSizes: new Map([['configmaps', 1000]]) }, 1000],
    ['no more than a history may grow to', { defaultWatchCacheSize: 1_000_000_000 }, 102_400],
  ])('%s is what its history has room for at first', async (_case, options, capacity) => {
    expect((await open({}, options)).cacher?.inspect().history.capacity).toBe(capacity);
  });
});

describe('a resource stack', () => {
  it.each([true, false])('counts its objects and what it asks of the store (cached: %s)', async (watchCache) => {
    const stack = await open({}, { watchCache });
    await stack.served.store.create(testContext(), configMap('a', { data: { k: 'v' } }));
    const { objectCount, averageObjectBytes } = await stack.stats();
    expect([objectCount, averageObjectBytes > 0]).toEqual([1, watchCache]);
    expect(stack.inspectStore().requests.find(({ operation }) => operation === 'create')?.durations.count).toBe(1);
  });

  it.each([undefined, 0, 60])('shares leases for %s s, as it is told', async (leaseReuseSeconds) => {
    const options = { leaseReuseSeconds };
    const { served } = await open({ strategy: { ...unconditionalStrategy, ttlSeconds: () => 3_600 } }, options);
    for (const name of ['a', 'b']) await served.store.create(testContext(), configMap(name));
    const keys = ['a', 'b'].map((name) => `/registry/configmaps/default/${name}`);
    const leases = await Promise.all(keys.map(async (key) => (await fixture.engine.get(key)).kv?.lease));
    expect(leases[0] === leases[1]).toBe(leaseReuseSeconds !== 0);
  });

  it('names the request, kind and key of a slow call in the log', async () => {
    const lines: unknown[] = [];
    const info = (message: string, fields?: LogFields): void => void lines.push({ message, ...fields });
    const { served } = await open({}, { watchCache: false, clock: fixture.clock, logger: { ...silentLogger, info } });
    const { commit } = fixture.engine;
    fixture.engine.commit = async (change) => {
      await fixture.clock.advance(700);
      return commit.call(fixture.engine, change);
    };
    await served.store.create({ ...testContext(), auditId: 'id-1' }, configMap('a'));
    expect(lines).toMatchObject([
      {
        message: 'Trace "Create etcd3" (total time: 700ms)',
        'audit-id': 'id-1',
        type: 'ConfigMap',
        key: '/registry/configmaps/default/a',
      },
    ]);
  });

  it.each([true, false])('stores and reads (cached: %s)', async (watchCache) => {
    const { served } = await open({}, { watchCache, keyPrefix: 'custom//prefix' });
    const stored = await served.store.create(testContext(), configMap('a', { data: { k: 'v' } }));
    expect(stored.key).toBe('/custom/prefix/configmaps/default/a');
    expect((await served.store.list(testContext(), {})).items[0]?.object).toEqual(stored.object);
    expect(Object.isFrozen(stored.object)).toBe(true);
  });

  it('says when it is not ready', async () => {
    const stack = await open();
    expect(stack.readiness()).toBeUndefined();
    await stack.close();
    expect(stack.readiness()).toBeDefined();
  });

  it('decorates what it answers with and stores nothing of it', async () => {
    const decorate = (object: UnstructuredObject): void => {
      object.computed = `of ${object.metadata?.name}`;
    };
    const { served } = await open({ decorate });
    const seen: unknown[] = [];
    const watch = served.store.watch(
      testContext(),
      { resourceVersion: '0' },
      { onEvent: (event) => event.type !== 'BOOKMARK' && seen.push(event.stored), onEnd: () => undefined },
    );
    const created = await served.store.create(testContext(), configMap('a'));
    expect(created.object.computed).toBe('of a');
    const same = await served.store.update(testContext(), {
      name: 'a',
      transform: (present) => {
        expect(present?.computed).toBeUndefined();
        return present as UnstructuredObject;
      },
    });
    expect(same.stored.revision).toBe(created.revision);
    const list = await served.store.list(testContext(), {});
    expect(list.items[0]?.object.computed).toBe('of a');
    expect((await served.store.list(testContext(), {})).items[0]).toBe(list.items[0]);
    expect(seen[0]).toBe(list.items[0]);
    watch.close();
    const plain = await open();
    expect((await plain.served.store.get(testContext(), 'a')).object).not.toHaveProperty('computed');
  });
});

describe('versions of one resource', () => {
  const storageVersion = { group: 'g.io', version: 'v1' };
  const shared = { group: 'g.io', resource: 'widgets', kind: 'Widget', storageVersion };

  it('are stored in one and read in any', async () => {
    const v1 = await open({ ...shared, version: 'v1' });
    const v2 = await open({ ...shared, version: 'v2' });
    await v2.served.store.create(testContext(), { ...configMap('a'), apiVersion: 'g.io/v2', kind: 'Widget' });
    expect((await v1.served.store.get(testContext(), 'a')).object.apiVersion).toBe('g.io/v1');
    expect((await v2.served.store.list(testContext(), {})).items[0]?.object.apiVersion).toBe('g.io/v2');
    const { kv } = await fixture.engine.get('/registry/widgets/default/a');
    expect(JSON.parse(Buffer.from(kv?.value ?? []).toString())).toMatchObject({ apiVersion: 'g.io/v1' });
  });

  it('are converted with the functions of the version, in reads, updates and selections', async () => {
    const v1 = await open({ ...shared, version: 'v1' });
    const v2 = await open({
      ...shared,
      version: 'v2',
      selectableFields: ['title'],
      getAttributes: (object) => ({
        labels: {},
        fields: { 'metadata.name': object.metadata?.name ?? '', title: String(object.title) },
      }),
      convert: {
        fromStored: ({ name, ...rest }) =>
          ({ ...structuredClone(rest), apiVersion: 'g.io/v2', title: name }) as unknown as UnstructuredObject,
        toStored: ({ title, ...rest }) => ({ ...rest, apiVersion: 'g.io/v1', name: title }),
      },
    });
    await v1.served.store.create(testContext(), {
      ...configMap('a'),
      apiVersion: 'g.io/v1',
      kind: 'Widget',
      name: 'N',
    });
    const read = await v2.served.store.get(testContext(), 'a');
    expect(read.object).toMatchObject({ apiVersion: 'g.io/v2', title: 'N' });
    expect(read.object.metadata?.resourceVersion).toBe(String(read.revision));
    const { stored } = await v2.served.store.update(testContext(), {
      name: 'a',
      transform: (present) => ({ ...present, title: 'M' }),
    });
    expect(stored.object).toMatchObject({ title: 'M' });
    expect((await v1.served.store.get(testContext(), 'a')).object).toMatchObject({ apiVersion: 'g.io/v1', name: 'M' });
    const selected = await v2.served.store.list(testContext(), { fieldSelector: 'title=M' });
    expect(selected.items).toHaveLength(1);
    const none = await v2.served.store.list(testContext(), { fieldSelector: 'title=N' });
    expect(none.items).toHaveLength(0);
  });
});
