// Programs about informers over HTTP: the two ways to fill a cache, and the faults that they survive.
import {
  type DeepReadonly,
  isExpired,
  isNotFound,
  isUnauthorized,
  type KubernetesObject,
  resource,
} from '@kapstan/api';
import {
  filteringHandler,
  type InformerEvent,
  SharedInformerFactory,
  type SharedInformerFactoryOptions,
} from '@kapstan/informers';
import { ConfigMap, Event } from '@kapstan/kinds/core/v1';
import { expect } from 'vitest';
import { event, fill } from './client-programs.ts';
import { dynamicGadget, installGadget } from './gadget.ts';
import { eventually, type Program, type Programs, type Scene } from './scene.ts';

type Source = ConstructorParameters<typeof SharedInformerFactory>[0];

/**
 * Returns a factory that is closed with the program. Its errors are handled here, so they are not logged as warnings.
 */
function factoryOf(
  scene: Scene,
  options: SharedInformerFactoryOptions & { readonly source?: Source } = {},
): SharedInformerFactory {
  const { source = scene.client, ...rest } = options;
  const factory = new SharedInformerFactory(source, {
    namespace: scene.namespace,
    onWatchError: () => undefined,
    ...rest,
  });
  scene.defer(() => factory.close());
  return factory;
}

const nameOf = (object: DeepReadonly<KubernetesObject>): string => object.metadata?.name ?? '';
const namesOf = (objects: readonly DeepReadonly<KubernetesObject>[]): string => objects.map(nameOf).sort().join(' ');

function textOf(heard: InformerEvent<KubernetesObject>): string {
  if (heard.type === 'synced') return 'synced';
  const isUnknown = heard.type === 'deleted' && heard.isFinalStateUnknown;
  return `${heard.type} ${heard.key.split('/').at(-1)}${isUnknown ? ' (state unknown)' : ''}`;
}

/** Returns the number of gets and lists of a collection that the scene's client sent. */
function countOf({ requests, namespace }: Scene, plural: string): number {
  return requests.filter(({ method, path }) => method === 'GET' && path === `/api/v1/namespaces/${namespace}/${plural}`)
    .length;
}

/**
 * Returns a program whose informer fills its cache in one of two ways, follows changes, and ends with the server's
 * list.
 */
const follows =
  (useWatchList: boolean): Program =>
  async (scene) => {
    const { client, namespace } = scene;
    await fill(scene, 4);
    const factory = factoryOf(scene, { useWatchList });
    const informer = factory.informer(ConfigMap, {
      indexers: { parity: ({ metadata }) => Object.keys(metadata?.labels ?? {}) },
    });
    const heard: string[] = [];
    const stream = informer.events$.subscribe((one) => void heard.push(textOf(one)));
    scene.defer(() => stream.unsubscribe());
    factory.start();
    expect(await factory.waitForCacheSync()).toEqual(new Map([['configmaps.v1.', true]]));
    await eventually(() => expect(heard.at(-1)).toBe('synced'));
    expect(heard.sort()).toEqual(['added m-00', 'added m-01', 'added m-02', 'added m-03', 'synced']);
    // The client sent one watch, or a list and a watch.
    await eventually(() => expect(countOf(scene, 'configmaps')).toBe(useWatchList ? 1 : 2));
    heard.length = 0;
    await client.create(ConfigMap, { metadata: { namespace, name: 'z' } });
    await client.mergePatch(ConfigMap, { namespace, name: 'm-00' }, { data: { k: 'v' } });
    await client.delete(ConfigMap, { namespace, name: 'm-01' });
    await eventually(() => expect(heard).toEqual(['added z', 'updated m-00', 'deleted m-01']));
    const listed = await client.list(ConfigMap, { namespace });
    expect([...informer.lister.list()].sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1))).toEqual(listed);
    expect(namesOf(informer.indexer.byIndex('parity', 'even'))).toBe('m-00 m-02');
    expect(informer.lister.namespace(namespace).get('z').metadata?.uid).toBe(listed.at(-1)?.metadata?.uid);
    expect(informer.status.phase).toBe('live');
  };

export const informerPrograms: Programs = {
  'an informer fills its cache by a streamed list and follows': follows(true),
  'an informer fills its cache by a list and follows': follows(false),

  'an informer lists in pages': async (scene) => {
    const { client, namespace } = scene;
    const names = Array.from({ length: 23 }, (_, index) => `e-${index}`);
    await Promise.all(names.map((name) => client.create(Event, event({ namespace, name }))));
    const factory = factoryOf(scene, { useWatchList: false, pageSize: 5 });
    const informer = factory.informer(Event);
    factory.start();
    await factory.waitForCacheSync();
    expect(informer.lister.list()).toHaveLength(23);
    // The client sent five pages and a watch. A cached kind would arrive in one piece, because an informer requests
    // version "0", which the cache itself answers.
    await eventually(() => expect(countOf(scene, 'events')).toBe(6));
  },

  'an informer of nothing is in sync, at the version of the list': async (scene) => {
    const { resourceVersion } = await scene.client.listPage(ConfigMap, { namespace: scene.namespace });
    for (const useWatchList of [true, false]) {
      const factory = factoryOf(scene, { useWatchList });
      const informer = factory.informer(ConfigMap);
      factory.start();
      await factory.waitForCacheSync();
      expect(informer.hasSynced).toBe(true);
      expect(Number(informer.lastSyncResourceVersion)).toBeGreaterThanOrEqual(Number(resourceVersion));
    }
  },

  'an informer sees what enters and leaves its selectors': async (scene) => {
    const { client, namespace } = scene;
    await fill(scene, 4);
    const factory = factoryOf(scene, {
      tweakListOptions: () => ({ labelSelector: 'even', fieldSelector: 'metadata.name!=m-02' }),
    });
    const informer = factory.informer(ConfigMap);
    factory.start();
    await factory.waitForCacheSync();
    expect(namesOf(informer.lister.list())).toBe('m-00');
    const label = (name: string, labels: object) =>
      client.mergePatch(ConfigMap, { namespace, name }, { metadata: { labels } });
    await label('m-02', { more: '1' });
    await label('m-01', { even: '1' });
    await label('m-00', { even: null });
    await eventually(() => expect(namesOf(informer.lister.list())).toBe('m-01'));
  },

  'an informer keeps what its transform leaves, also after an update': async (scene) => {
    const { client, namespace } = scene;
    await fill(scene, 2);
    const factory = factoryOf(scene, {
      transform: ({ metadata, kind, apiVersion }) => {
        const { managedFields: _, ...rest } = metadata ?? {};
        return { kind, apiVersion, metadata: rest } as KubernetesObject;
      },
    });
    const informer = factory.informer(ConfigMap);
    factory.start();
    await factory.waitForCacheSync();
    await client.mergePatch(ConfigMap, { namespace, name: 'm-00' }, { metadata: { labels: { x: 'y' } } });
    const read = () => informer.lister.namespace(namespace).get('m-00');
    await eventually(() => expect(read().metadata?.labels?.x).toBe('y'));
    expect([read().data, read().metadata?.managedFields]).toEqual([undefined, undefined]);
  },

  'an informer of metadata alone follows, and never sees the rest': async (scene) => {
    const { client, namespace } = scene;
    await fill(scene, 2);
    for (const useWatchList of [true, false]) {
      const factory = factoryOf(scene, { source: client.metadata, useWatchList });
      const informer = factory.informer(ConfigMap);
      factory.start();
      await factory.waitForCacheSync();
      const name = `new-${useWatchList}`;
      await client.create(ConfigMap, { metadata: { namespace, name, labels: { x: 'y' } }, data: { k: 'v' } });
      await eventually(() => expect(namesOf(informer.lister.list())).toContain(name));
      for (const object of informer.lister.list())
        expect(Object.keys(object).sort()).toEqual(['apiVersion', 'kind', 'metadata']);
      expect(informer.lister.namespace(namespace).get(name)).toMatchObject({
        kind: 'PartialObjectMetadata',
        metadata: { labels: { x: 'y' } },
      });
    }
    const at = { namespace, name: 'm-00' };
    expect(await client.metadata.get(ConfigMap, at)).toEqual({
      kind: 'PartialObjectMetadata',
      apiVersion: 'meta.k8s.io/v1',
      metadata: (await client.get(ConfigMap, at)).metadata,
    });
    expect(await client.metadata.list(ConfigMap, { namespace, limit: 2 })).toHaveLength(4);
  },

  'handlers, a filter and a slow loop see the same informer': async (scene) => {
    const { client, namespace } = scene;
    await fill(scene, 4);
    const factory = factoryOf(scene);
    const informer = factory.informer(ConfigMap);
    const log: string[] = [];
    const handler = {
      onAdd: (object: DeepReadonly<ConfigMap>, isInInitialList: boolean) =>
        void log.push(`+${nameOf(object)}${isInInitialList ? '!' : ''}`),
      onUpdate: (_old: unknown, object: DeepReadonly<ConfigMap>) => void log.push(`~${nameOf(object)}`),
      onDelete: (object: { readonly metadata?: { readonly name?: string } } | object) =>
        void log.push(`-${nameOf(object)}`),
    };
    const isOdd = (object: object) => (object as ConfigMap).metadata?.labels?.odd === '1';
    const registration = informer.addEventHandler(filteringHandler<ConfigMap>(isOdd, handler));
    factory.start();
    await registration.whenSynced();
    expect(log.sort()).toEqual(['+m-01!', '+m-03!']);
    const last = (async () => {
      for await (const one of informer.watchEvents()) if (one.type === 'deleted') return one.key;
      return undefined;
    })();
    const label = (name: string, odd: string | null) =>
      client.mergePatch(ConfigMap, { namespace, name }, { metadata: { labels: { odd } } });
    await label('m-00', '1');
    await label('m-00', '1');
    await label('m-01', null);
    await client.mergePatch(ConfigMap, { namespace, name: 'm-03' }, { data: { k: 'v' } });
    await client.delete(ConfigMap, { namespace, name: 'm-03' });
    await eventually(() => expect(log.slice(2)).toEqual(['+m-00', '-m-01', '~m-03', '-m-03']));
    expect(await last).toBe(`${namespace}/m-03`);
  },

  'a dynamic informer waits for its kind to be defined, and follows it': async (scene) => {
    const factory = factoryOf(scene);
    const kind = `Late${scene.namespace.replaceAll('-', '')}`;
    const late = factory.informer(resource({ group: 'sdk.example.com', version: 'v1', kind }));
    const gadgets = factory.informer(dynamicGadget);
    await installGadget(scene.client);
    factory.start();
    await gadgets.whenSynced();
    const metadata = { namespace: scene.namespace, name: 'a' };
    await scene.client.create(dynamicGadget, { metadata, spec: { image: 'i' } });
    await eventually(() => expect(gadgets.lister.list()).toMatchObject([{ kind: 'Gadget', spec: { replicas: 1 } }]));
    await eventually(() => expect(late.status).toMatchObject({ phase: 'failed', error: expect.toSatisfy(isNotFound) }));
    await define(scene, kind);
    await eventually(() => expect(late.status.phase).toBe('live'), 20_000);
  },

  'an informer says what is wrong with its token, and goes on when that is mended': async (scene) => {
    let token = 'wrong';
    const credentials = { headers: () => ({ authorization: `Bearer ${token}` }) };
    const client = scene.connect({}, { token: '', credentials });
    const factory = factoryOf(scene, { source: client });
    const informer = factory.informer(ConfigMap);
    factory.start();
    await eventually(() =>
      expect(informer.status).toMatchObject({ phase: 'failed', error: expect.toSatisfy(isUnauthorized) }),
    );
    token = scene.server.token;
    await eventually(() => expect(informer.status.phase).toBe('live'), 20_000);
  },

  'an informer reopens a watch that has fallen silent, and misses nothing': async (scene) => {
    const { client, namespace } = scene;
    const requests: string[] = [];
    const { proxy, client: source } = await scene.connectThroughProxy({
      onRequest: ({ method }) => requests.push(method),
    });
    const factory = factoryOf(scene, { source, idleTimeoutMs: 1500, useWatchList: false });
    const informer = factory.informer(ConfigMap);
    const heard: string[] = [];
    const phases: string[] = [];
    const streams = [
      informer.events$.subscribe((one) => void heard.push(textOf(one))),
      informer.status$.subscribe(({ phase }) => void phases.push(phase)),
    ];
    scene.defer(() => streams.map((stream) => stream.unsubscribe()));
    factory.start();
    await factory.waitForCacheSync();
    await eventually(() => expect(requests).toHaveLength(2));
    // The connections are half-open: nothing arrives and nothing is closed. New connections work.
    for (const connection of proxy.connections) connection.hold();
    await fill(scene, 3);
    await client.delete(ConfigMap, { namespace, name: 'm-00' });
    await eventually(() => expect(heard.filter((one) => one !== 'synced')).toHaveLength(4));
    expect(heard.at(-1)).toBe('deleted m-00');
    // Only the watch was reopened, from the last version; nothing was listed.
    expect(requests).toHaveLength(3);
    expect(phases.slice(0, 4)).toEqual(['syncing', 'live', 'stale', 'live']);
  },

  'an informer lives through reset connections': async (scene) => {
    const { client, namespace } = scene;
    const { proxy, client: source } = await scene.connectThroughProxy();
    const factory = factoryOf(scene, {
      source,
      backoff: { initialMs: 20, maxMs: 100, factor: 2, jitter: 0, resetAfterMs: 1000 },
    });
    const informer = factory.informer(ConfigMap);
    factory.start();
    await factory.waitForCacheSync();
    for (let round = 0; round < 5; round++) {
      proxy.cut();
      await client.create(ConfigMap, { metadata: { namespace, name: `r-${round}` } });
      if (round > 0) await client.delete(ConfigMap, { namespace, name: `r-${round - 1}` });
      await eventually(() => expect(namesOf(informer.lister.list())).toBe(`r-${round}`));
    }
  },

  'an informer whose version was compacted away lists anew, and tells of what vanished': async (scene) => {
    const { client, namespace, server } = scene;
    const { proxy, client: source } = await scene.connectThroughProxy();
    for (const name of ['a', 'b', 'c']) await client.create(Event, event({ namespace, name }));
    // A broken connection alone causes no relist, so the version itself must be refused.
    const factory = factoryOf(scene, { source, idleTimeoutMs: 1500 });
    const informer = factory.informer(Event);
    const heard: string[] = [];
    const errors: unknown[] = [];
    const streams = [
      informer.events$.subscribe((one) => void heard.push(textOf(one))),
      informer.status$.subscribe(({ error }) => void errors.push(error)),
    ];
    scene.defer(() => streams.map((stream) => stream.unsubscribe()));
    factory.start();
    await factory.waitForCacheSync();
    await eventually(() => expect([heard.length, informer.status.phase]).toEqual([4, 'live']));
    for (const connection of proxy.connections) connection.hold();
    await client.delete(Event, { namespace, name: 'a' });
    await client.mergePatch(Event, { namespace, name: 'b' }, { message: 'changed' });
    await client.create(Event, event({ namespace, name: 'd' }));
    await server.compact();
    await eventually(() => expect(namesOf(informer.lister.list())).toBe('b c d'), 20_000);
    expect(heard.slice(4).sort()).toEqual(['added d', 'deleted a (state unknown)', 'updated b']);
    expect(errors.some(isExpired)).toBe(true);
    expect(informer.lister.namespace(namespace).get('b').message).toBe('changed');
  },
};

async function define({ client }: Scene, kind: string): Promise<void> {
  const { CustomResourceDefinition } = await import('@kapstan/kinds/apiextensions.k8s.io/v1');
  const plural = `${kind.toLowerCase()}s`;
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
  await client.create(CustomResourceDefinition, {
    metadata: { name: `${plural}.sdk.example.com` },
    spec: {
      group: 'sdk.example.com',
      scope: 'Namespaced',
      names: { kind, plural },
      versions: [{ name: 'v1', served: true, storage: true, schema }],
    },
  } as never);
}
