import {
  type KubernetesObject,
  type ListerWatcher,
  type ListerWatcherScope,
  type Logger,
  type Resource,
  silentLogger,
  type WatchEvent,
} from '@kapstan/api';
import { FakeListerWatcher, LeakCheck, pod, type TestPod, testPods, VirtualClock } from '@kapstan/api/testing';
import { Subject } from 'rxjs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SharedInformerFactory } from './shared-informer-factory.ts';

let clock: VirtualClock;
let leaks: LeakCheck;
let source: FakeListerWatcher<TestPod>;
let scopes: (ListerWatcherScope | undefined)[];
let factory: SharedInformerFactory;

const client = {
  /** Always sends whole objects, like a source that does not support metadata-only requests. */
  listerWatcher<T extends KubernetesObject>(_token: Resource<T>, scope?: ListerWatcherScope): ListerWatcher<T> {
    scopes.push(scope);
    return source as unknown as ListerWatcher<T>;
  },
};

beforeEach(() => {
  clock = new VirtualClock();
  leaks = new LeakCheck({ clock });
  source = new FakeListerWatcher<TestPod>();
  scopes = [];
  factory = new SharedInformerFactory(client, { clock, random: () => 0, namespace: 'default' });
});
afterEach(async () => {
  await factory.close();
  expect(source.openWatches).toBe(0);
  await leaks.assertNone();
});

const metadata = { name: 'a', namespace: 'default', uid: 'uid-1', labels: { app: 'web' } };
const partial = (resourceVersion: string) => ({
  apiVersion: 'meta.k8s.io/v1',
  kind: 'PartialObjectMetadata',
  metadata: { ...metadata, resourceVersion },
});

describe('SharedInformerFactory: informers of metadata', () => {
  it('asks for metadata only, and caches, indexes and tells of nothing else', async () => {
    const informer = factory.metadataInformer(testPods, {
      indexers: { app: ({ metadata: { labels } }) => [labels?.app] },
    });
    const told: unknown[] = [];
    informer.addEventHandler({
      onAdd: (object) => void told.push(object),
      onUpdate: (_before, object) => void told.push(object),
      onDelete: (object) => void told.push(object),
    });
    source.add(pod(metadata, { spec: { nodeName: 'n1' } }));
    factory.start();
    await factory.waitForCacheSync();
    expect(scopes).toEqual([{ namespace: 'default', metadataOnly: true }]);
    expect(informer.lister.namespace('default').get('a')).toEqual(partial('1'));
    expect(informer.indexer.byIndex('app', 'web')).toEqual([partial('1')]);
    source.modify(pod(metadata, { spec: { nodeName: 'n2' } }));
    source.bookmark();
    source.delete({ name: 'a' });
    expect(told).toEqual([partial('1'), partial('2'), partial('4')]);
    expect(informer.indexer.resourceVersion).toBe('4');
  });

  it('is the same with lists, page by page', async () => {
    for (const name of ['a', 'b', 'c']) source.add(pod({ name }, { spec: { nodeName: 'n1' } }));
    const paged = new SharedInformerFactory(client, { clock, random: () => 0, useWatchList: false, pageSize: 2 });
    const informer = paged.metadataInformer(testPods);
    paged.start();
    await paged.waitForCacheSync();
    expect(source.asked('list')).toHaveLength(2);
    expect(informer.lister.list().map((object) => Object.keys(object))).toEqual(
      Array(3).fill(['apiVersion', 'kind', 'metadata']),
    );
    await paged.close();
  });

  it('are shared by resource, and not with those of whole objects', async () => {
    const informer = factory.metadataInformer(testPods);
    expect(factory.metadataInformer({ ...testPods })).toBe(informer);
    const whole = factory.informer(testPods);
    source.add(pod(metadata, { spec: { nodeName: 'n1' } }));
    factory.start();
    expect(await factory.waitForCacheSync()).toEqual(
      new Map([
        ['pods.v1. metadata', true],
        ['pods.v1.', true],
      ]),
    );
    expect(source.openWatches).toBe(2);
    expect(whole.lister.namespace('default').get('a').spec?.nodeName).toBe('n1');
    await factory.removeInformer(testPods);
    expect([informer.isStopped, whole.isStopped, source.openWatches]).toEqual([true, true, 0]);
  });

  it("take the factory's selectors, resync period and transform, and name the resource in errors", async () => {
    const other = new SharedInformerFactory(client, {
      clock,
      random: () => 0,
      resyncMs: 60_000,
      customResyncMs: [[testPods, 2000]],
      tweakListOptions: () => ({ labelSelector: 'app=web' }),
      transform: ({ metadata: { name = '', namespace = '' } = {}, ...rest }) => ({
        ...rest,
        metadata: { name, namespace },
      }),
    });
    const informer = other.metadataInformer(testPods);
    let resyncs = 0;
    informer.addEventHandler({ onUpdate: () => void resyncs++ });
    source.add(pod(metadata));
    source.add(pod({ name: 'b' }));
    other.start();
    await clock.advance(4000);
    expect(informer.lister.list()).toEqual([
      { apiVersion: 'meta.k8s.io/v1', kind: 'PartialObjectMetadata', metadata: { name: 'a', namespace: 'default' } },
    ]);
    expect(resyncs).toBe(2);
    expect(() => informer.lister.namespace('default').get('b')).toThrow('pods "b" not found');
    await other.close();
  });

  it('are told apart from those of whole objects in warnings', async () => {
    const told: string[] = [];
    const logger: Logger = { ...silentLogger, warn: (text) => void told.push(text) };
    const both = new SharedInformerFactory(client, { clock, random: () => 0, useWatchList: false, logger });
    for (const informer of [both.informer(testPods), both.metadataInformer(testPods)])
      informer.addEventHandler({
        onAdd: () => {
          throw new Error('no');
        },
      });
    source.add(pod(metadata));
    both.start();
    await both.waitForCacheSync();
    const text = 'a handler failed (added default/a): no';
    expect(told).toEqual([`pods: ${text}`, `pods (metadata): ${text}`]);
    await both.close();
  });

  it('report an object without metadata and go on', async () => {
    const errors: string[] = [];
    const informer = factory.metadataInformer(testPods, { onHandlerError: (error) => errors.push(String(error)) });
    const events = new Subject<WatchEvent<TestPod>>();
    factory.start();
    await factory.waitForCacheSync();
    source.watch = () => events;
    source.resetWatches();
    await clock.advance(2000);
    events.next({ type: 'ADDED', object: {} as TestPod });
    events.next({ type: 'ADDED', object: pod({ name: 'b', resourceVersion: '9' }) });
    expect(errors).toEqual(['TypeError: unable to understand watch event: the object has no metadata']);
    expect(informer.indexer.listKeys()).toEqual(['default/b']);
  });
});
