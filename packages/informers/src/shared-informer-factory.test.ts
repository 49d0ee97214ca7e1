import {
  type DeepReadonly,
  type KubernetesObject,
  type ListerWatcher,
  type Logger,
  type Resource,
  silentLogger,
} from '@kapstan/api';
import {
  configMap,
  FakeListerWatcher,
  LeakCheck,
  pod,
  type TestPod,
  testConfigMaps,
  testPods,
  VirtualClock,
} from '@kapstan/api/testing';
import { NEVER } from 'rxjs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SharedInformerFactory } from './shared-informer-factory.ts';
import type { SharedInformerFactoryOptions } from './shared-informer-factory-options.ts';
import { cacheSyncError } from './wait-for-cache-sync.ts';

class FakeClient {
  readonly sources = new Map<string, FakeListerWatcher<KubernetesObject>>();
  readonly scopes: unknown[] = [];

  listerWatcher<T extends KubernetesObject>(
    token: Resource<T>,
    scope?: { readonly namespace?: string },
  ): ListerWatcher<T> {
    this.scopes.push(scope);
    return this.source(token) as unknown as ListerWatcher<T>;
  }

  source(token: Resource): FakeListerWatcher<KubernetesObject> {
    const source = this.sources.get(token.plural) ?? new FakeListerWatcher<KubernetesObject>();
    this.sources.set(token.plural, source);
    return source;
  }
}

let clock: VirtualClock;
let client: FakeClient;
let factory: SharedInformerFactory;
let leaks: LeakCheck;

const open = (options: SharedInformerFactoryOptions = {}): SharedInformerFactory => {
  factory = new SharedInformerFactory(client, { clock, random: () => 0, ...options });
  return factory;
};

beforeEach(() => {
  clock = new VirtualClock();
  leaks = new LeakCheck({ clock });
  client = new FakeClient();
});
afterEach(async () => {
  await factory.close();
  await leaks.assertNone();
});

describe('SharedInformerFactory', () => {
  it('shares one informer and one watch per resource', async () => {
    open();
    const pods = factory.informer(testPods);
    expect(factory.informer({ ...testPods })).toBe(pods);
    factory.informer(testConfigMaps);
    factory.start();
    factory.start();
    expect(await factory.waitForCacheSync()).toEqual(
      new Map([
        ['pods.v1.', true],
        ['configmaps.v1.', true],
      ]),
    );
    expect(client.source(testPods).openWatches).toBe(1);
  });

  it.each([
    ['kind', { ...testPods, kind: 'PodTemplate' }, 'PodTemplate (Namespaced)'],
    ['scope', { ...testPods, scope: 'Cluster' }, 'Pod (Cluster)'],
  ] as const)('refuses a token of another %s with the same plural, and needs nothing then', async (_, other, text) => {
    open();
    const handle = factory.acquire(testPods);
    const metadata = factory.acquireMetadata(testPods);
    const refusal = new TypeError(`pods.v1. is already shared as Pod (Namespaced) and cannot be ${text}`);
    for (const request of ['informer', 'acquire', 'metadataInformer', 'acquireMetadata'] as const)
      expect(() => factory[request](other as typeof testPods)).toThrow(refusal);
    await Promise.all([handle.close(), metadata.close()]);
    expect([handle.informer.isStopped, metadata.informer.isStopped]).toEqual([true, true]);
    expect(() => factory.informer(other as typeof testPods)).not.toThrow();
  });

  it.each([
    ['where the source can', true, [], [{ sendInitialEvents: true, resourceVersionMatch: 'NotOlderThan' }]],
    [
      'and lists where it cannot',
      false,
      [{ resourceVersion: '0' }],
      [{ sendInitialEvents: true }, { resourceVersion: '1' }],
    ],
  ])('streams the first list %s', async (_name, supportsWatchList, lists, watches) => {
    open();
    const source = new FakeListerWatcher<KubernetesObject>({ supportsWatchList });
    client.sources.set(testPods.plural, source);
    source.add(pod({ name: 'a' }));
    const informer = factory.informer(testPods);
    factory.start();
    await factory.waitForCacheSync();
    expect(informer.lister.list()).toHaveLength(1);
    expect(source.asked('list')).toEqual(lists.map((options) => expect.objectContaining(options)));
    expect(source.asked('watch')).toEqual(watches.map((options) => expect.objectContaining(options)));
  });

  it('starts later requests with the next start, and waits for started ones only', async () => {
    open();
    factory.informer(testPods);
    factory.start();
    const late = factory.informer(testConfigMaps);
    expect([...(await factory.waitForCacheSync()).keys()]).toEqual(['pods.v1.']);
    expect(late.isStarted).toBe(false);
    factory.start();
    expect([...(await factory.waitForCacheSync()).values()]).toEqual([true, true]);
  });

  it('says which caches have not synced when the signal aborts', async () => {
    open({ useWatchList: false });
    factory.informer(testPods);
    client.source(testPods).list = () => new Promise(() => undefined);
    factory.informer(testConfigMaps);
    factory.start();
    const abort = new AbortController();
    const waiting = factory.waitForCacheSync({ signal: abort.signal });
    await clock.advance(0);
    abort.abort();
    expect([...(await waiting).values()]).toEqual([false, true]);
  });

  it.each<[string, Readonly<Record<string, boolean>>, string | undefined]>([
    ['nothing was waited for', {}, undefined],
    ['all have synced', { 'pods.v1.': true }, undefined],
    ['one has not', { 'pods.v1.': false, 'nodes.v1.': true }, 'failed to sync all caches: pods.v1.: no time left'],
    [
      'two have not',
      { 'pods.v1.': false, 'nodes.v1.': false },
      'failed to sync all caches: nodes.v1., pods.v1.: no time left',
    ],
  ])('has an error to end a start with when %s', (_what, synced, message) => {
    const cause = new Error('no time left');
    const error = cacheSyncError(new Map(Object.entries(synced)), cause);
    expect(error?.message).toBe(message);
    expect(error?.cause).toBe(message === undefined ? undefined : cause);
  });

  it('waits no longer for caches of a factory that closes', async () => {
    open();
    client.source(testPods).list = () => new Promise(() => undefined);
    client.source(testPods).watch = () => NEVER;
    factory.informer(testPods);
    factory.start();
    const waiting = factory.waitForCacheSync();
    await factory.close();
    expect([...(await waiting)]).toEqual([['pods.v1.', false]]);
    expect([...(await factory.waitForCacheSync())]).toEqual([['pods.v1.', false]]);
  });

  it('adds the indexers of each request', () => {
    open();
    const informer = factory.informer(testPods, { indexers: { node: (p) => [p.spec?.nodeName] } });
    factory.informer(testPods, { indexers: { node: () => [], phase: (p) => [p.status?.phase] } });
    expect(Object.keys(informer.indexer.getIndexers())).toEqual(['namespace', 'node', 'phase']);
  });

  it('warns once of an option that comes after the informer was made and differs from its own', () => {
    const told: string[] = [];
    const transform = (object: DeepReadonly<TestPod>): DeepReadonly<TestPod> => object;
    const logger: Logger = { ...silentLogger, warn: (text) => void told.push(text) };
    open({ logger, resyncMs: 1000, customResyncMs: [[testConfigMaps, 2000]] });
    factory.informer(testPods, { transform });
    factory.informer(testConfigMaps);
    for (const same of [{}, { transform }, { resyncMs: 1000, fifo: 'delta', retryOnError: false } as const])
      factory.informer(testPods, same);
    factory.informer(testConfigMaps, { resyncMs: 2000 });
    expect(told).toEqual([]);
    for (let request = 0; request < 2; request++)
      factory.acquire(testPods, { resyncMs: 5000, transform: (object) => object });
    factory.informer(testPods, { retryOnError: true, resyncMs: 7000 });
    expect(told).toEqual([
      'pods: already shared: resyncMs, transform of a later request have no effect',
      'pods: already shared: retryOnError of a later request has no effect',
    ]);
  });

  it('passes namespace and selectors on to the client', async () => {
    open({
      namespace: 'x',
      useWatchList: false,
      tweakListOptions: (token) => (token.kind === 'Pod' ? { labelSelector: 'app=web' } : {}),
    });
    for (const token of [testPods, testConfigMaps]) factory.informer(token as Resource);
    factory.start();
    await factory.waitForCacheSync();
    expect(client.scopes).toEqual([{ namespace: 'x' }, { namespace: 'x' }]);
    expect(client.source(testPods).asked('list')[0]).toMatchObject({ labelSelector: 'app=web' });
    expect(client.source(testConfigMaps).asked('list')[0]).not.toHaveProperty('labelSelector');
  });

  it('resyncs at the default period, that of the resource, or that of the request', async () => {
    open({ resyncMs: 10_000, customResyncMs: [[testConfigMaps, 2000]] });
    client.source(testPods).add(pod({ name: 'a' }));
    client.source(testConfigMaps).add(configMap({ name: 'a' }));
    const resyncs = { pods: 0, configMaps: 0 };
    factory.informer(testPods).addEventHandler({ onUpdate: () => void resyncs.pods++ });
    factory.informer(testConfigMaps).addEventHandler({ onUpdate: () => void resyncs.configMaps++ });
    factory.start();
    await clock.advance(20_000);
    expect(resyncs).toEqual({ pods: 2, configMaps: 10 });
  });

  it('transforms with its own transform where an informer has none', async () => {
    open({ transform: ({ metadata }) => ({ metadata }) as never });
    client.source(testPods).add(pod({ name: 'a' }));
    client.source(testConfigMaps).add(configMap({ name: 'a' }, { k: 'v' }));
    const pods = factory.informer(testPods);
    const maps = factory.informer(testConfigMaps, { transform: (object) => object });
    factory.start();
    await factory.waitForCacheSync();
    expect(pods.lister.list()[0]).not.toHaveProperty('spec');
    expect(maps.lister.list()[0]?.data).toEqual({ k: 'v' });
  });

  it('names the resource in what its listers do not find', () => {
    open();
    expect(() => factory.informer(testConfigMaps).lister.namespace('x').get('y')).toThrow('configmaps "y" not found');
  });

  it('can tell when the last one leaves, for the informer to be removed, and begins anew for the next', async () => {
    open();
    const source = client.source(testPods);
    source.add(pod({ name: 'a' }));
    const informer = factory.informer(testPods);
    const counts = [informer.consumers];
    const handlers = [informer.addEventHandler({}), informer.addEventHandler({})];
    const subscription = informer.events$.subscribe();
    const loop = informer.watchEvents()[Symbol.asyncIterator]();
    factory.start();
    await loop.next();
    counts.push(informer.consumers);
    const leave = async (end: () => unknown): Promise<void> => {
      await end();
      counts.push(informer.consumers);
      if (informer.consumers === 0) await factory.removeInformer(testPods);
    };
    await leave(() => informer.removeEventHandler(handlers[0] as (typeof handlers)[number]));
    await leave(() => handlers[1]?.close());
    await leave(() => subscription.unsubscribe());
    expect([source.openWatches, informer.isStopped]).toEqual([1, false]);
    await leave(() => loop.return?.());
    expect(counts).toEqual([0, 4, 3, 2, 1, 0]);
    expect([source.openWatches, informer.isStopped]).toEqual([0, true]);
    const told: string[] = [];
    factory.informer(testPods).addEventHandler({ onAdd: ({ metadata }) => void told.push(metadata?.name ?? '') });
    factory.start();
    await factory.waitForCacheSync();
    expect([told, source.openWatches]).toEqual([['a'], 1]);
  });

  it('closes and forgets the informer of a resource that is gone', async () => {
    open();
    const first = factory.informer(testPods);
    factory.start();
    await factory.removeInformer(testPods);
    expect(first.isStopped).toBe(true);
    const second = factory.informer(testPods);
    expect(second).not.toBe(first);
    factory.start();
    expect(second.isStarted).toBe(true);
    await expect(factory.removeInformer(testConfigMaps)).resolves.toBeUndefined();
  });

  it('waits no longer for an informer that is removed, but for the others', async () => {
    open({ useWatchList: false });
    let answer: () => void = () => undefined;
    const hold = new Promise<void>((resolve) => {
      answer = resolve;
    });
    client.source(testPods).list = () => new Promise(() => undefined);
    const maps = client.source(testConfigMaps);
    const list = maps.list.bind(maps);
    maps.list = (options) => hold.then(() => list(options));
    const removed = factory.informer(testPods);
    factory.informer(testConfigMaps);
    factory.start();
    const waiting = factory.waitForCacheSync();
    await factory.removeInformer(testPods);
    expect(await removed.whenSynced()).toBe(false);
    answer();
    expect([...(await waiting)]).toEqual([
      ['pods.v1.', false],
      ['configmaps.v1.', true],
    ]);
  });

  it('closes all informers and makes and starts none after (I9)', async () => {
    open();
    const informer = factory.informer(testPods);
    factory.start();
    await factory.waitForCacheSync();
    await factory.close();
    await factory.close();
    factory.start();
    expect(informer.isStopped).toBe(true);
    expect(client.source(testPods).openWatches).toBe(0);
    expect(() => factory.informer(testConfigMaps)).toThrow('the informer factory is closed');
    expect(factory.informer(testPods)).toBe(informer);
  });
});
