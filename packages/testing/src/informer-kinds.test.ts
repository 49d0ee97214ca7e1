// Informers of kinds that are unknown when the program is written, and of metadata alone, over HTTP and in process.
import { type Resource, type ResourceClient, resource, silentLogger, type UnstructuredObject } from '@kapstan/api';
import { LeakCheck } from '@kapstan/api/testing';
import { SharedInformer, SharedInformerFactory } from '@kapstan/informers';
import { ConfigMap } from '@kapstan/kinds/core/v1';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type TestCluster, testCluster } from './test-cluster.ts';

const Definition = resource({
  group: 'apiextensions.k8s.io',
  version: 'v1',
  kind: 'CustomResourceDefinition',
  scope: 'Cluster',
});
const names = { plural: 'echos', singular: 'echo', kind: 'Echo', listKind: 'EchoList' };
const openAPIV3Schema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
const echoDefinition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'echos.example.com' },
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names,
    versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema } }],
  },
};
const echo = (name: string, text: string, namespace = 'default'): UnstructuredObject => ({
  apiVersion: 'example.com/v1',
  kind: 'Echo',
  metadata: { name, namespace, labels: { text } },
  spec: { text },
});

// These tests start whole servers; the first start takes seconds on a busy machine.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

describe.each(['over HTTP', 'in process'])('an informer %s', (transport) => {
  let cluster: TestCluster;
  let client: ResourceClient;
  let factory: SharedInformerFactory;
  let leaks: LeakCheck;
  /** Found by discovery over HTTP; defined by hand in process. */
  let Echo: Resource<UnstructuredObject>;
  let isServed: (kind: Resource) => Promise<boolean>;

  const open = (options: ConstructorParameters<typeof SharedInformerFactory>[1] = {}): SharedInformerFactory =>
    new SharedInformerFactory(client, { clock: cluster.clock, random: () => 0, ...options });

  beforeEach(async () => {
    leaks = new LeakCheck();
    const isHttp = transport === 'over HTTP';
    cluster = await testCluster({ http: isHttp ? 'on' : 'off', crds: [echoDefinition] });
    client = cluster.client;
    Echo = resource({ group: 'example.com', version: 'v1', kind: 'Echo' });
    isServed = async () => (await client.listPage(Definition, {})).items.length > 0;
    if (!isHttp) return;
    const http = await cluster.connect();
    client = http;
    isServed = (kind) => http.discovery.serves(kind);
    Echo = (await http.mapper.forName('echos')) as Resource<UnstructuredObject>;
  });
  afterEach(async () => {
    await factory.close();
    await cluster.close();
    await leaks.assertNone();
  });

  it('of a kind from discovery delivers additions, changes and deletions', async () => {
    factory = open();
    const told: string[] = [];
    const note = (what: string) => (object: unknown) =>
      void told.push(`${what} ${((object as UnstructuredObject).spec as { text: string }).text}`);
    factory.informer(Echo).addEventHandler({
      onAdd: note('add'),
      onUpdate: (_before, object) => note('update')(object),
      onDelete: note('delete'),
    });
    factory.start();
    await cluster.settle();
    const created = await client.create(Echo, echo('a', 'one'));
    await client.update(Echo, { ...created, spec: { text: 'two' } });
    await client.delete(Echo, { name: 'a', namespace: 'default' });
    await cluster.settle();
    expect(told).toEqual(['add one', 'update two', 'delete two']);
  });

  it('of a kind from discovery sees what its namespace and its field and label selectors select', async () => {
    await client.create(resource({ group: '', version: 'v1', kind: 'Namespace', scope: 'Cluster' }), {
      metadata: { name: 'other' },
    });
    const selections = [
      { options: {}, keys: ['default/a', 'default/b', 'other/a'] },
      { options: { namespace: 'other' }, keys: ['other/a'] },
      { options: { namespace: 'none' }, keys: [] },
      { options: { tweakListOptions: () => ({ fieldSelector: 'metadata.name=a' }) }, keys: ['default/a', 'other/a'] },
      { options: { tweakListOptions: () => ({ labelSelector: 'text in (two)' }) }, keys: ['default/b'] },
      { options: { namespace: 'other', tweakListOptions: () => ({ labelSelector: 'text=two' }) }, keys: [] },
    ];
    for (const object of [echo('a', 'one'), echo('b', 'two')]) await client.create(Echo, object);
    const factories = selections.map(({ options }) => open(options));
    const informers = factories.map((each) => each.informer(Echo));
    for (const each of factories) each.start();
    await cluster.settle();
    await client.create(Echo, echo('a', 'one', 'other'));
    await cluster.settle();
    expect(informers.map(({ indexer }) => indexer.listKeys().sort())).toEqual(selections.map(({ keys }) => keys));
    for (const each of factories) await each.close();
    factory = open();
  });

  it('of metadata holds no more than that, through lists and watches', async () => {
    await client.create(ConfigMap, { metadata: { name: 'a', namespace: 'default' }, data: { k: 'v' } });
    for (const useWatchList of [true, false]) {
      factory = open({ useWatchList, namespace: 'default' });
      const informer = factory.metadataInformer(ConfigMap);
      factory.start();
      await cluster.settle();
      await client.create(ConfigMap, {
        metadata: { name: `b-${useWatchList}`, namespace: 'default' },
        data: { k: 'v' },
      });
      await cluster.settle();
      const cached = informer.lister.list().filter(({ metadata }) => metadata.name !== 'kube-root-ca.crt');
      expect(cached.map(({ metadata }) => metadata.name)).toEqual(
        useWatchList ? ['a', 'b-true'] : ['a', 'b-true', 'b-false'],
      );
      for (const object of cached) {
        expect(Object.keys(object).sort()).toEqual(['apiVersion', 'kind', 'metadata']);
        expect(object).toMatchObject({ kind: 'PartialObjectMetadata', metadata: { uid: expect.any(String) } });
      }
      await factory.close();
    }
  });

  it('of a kind that is gone says so, is removed, and comes back with the kind', async () => {
    factory = open({ onWatchError: () => undefined });
    await client.create(Echo, echo('a', 'one'));
    const informer = factory.informer(Echo);
    const told: string[] = [];
    informer.addEventHandler({ onDelete: () => void told.push('delete') });
    factory.start();
    await cluster.settle();
    await client.delete(Definition, { name: 'echos.example.com' });
    await cluster.advance(60_000);
    expect(told).toEqual(['delete']);
    expect(informer.status).toMatchObject({ phase: 'failed', error: { code: 404 } });
    await factory.removeInformer(Echo);
    expect([informer.isStopped, await informer.whenSynced()]).toEqual([true, true]);
    await client.create(Definition, echoDefinition);
    await cluster.settle();
    const again = factory.informer(Echo);
    factory.start();
    await cluster.advance(60_000);
    expect([again === informer, again.status.phase]).toEqual([false, 'live']);
  });

  it('of a kind that is gone goes by itself where discovery is asked, and comes back with the kind', async () => {
    factory = open({ onWatchError: () => undefined, isServed });
    await client.create(Echo, echo('a', 'one'));
    const others = factory.acquire(ConfigMap);
    const first = factory.acquire(Echo);
    const told: string[] = [];
    first.informer.addEventHandler({ onDelete: () => void told.push('delete') });
    factory.start();
    await cluster.settle();
    await client.delete(Definition, { name: 'echos.example.com' });
    await cluster.advance(60_000);
    expect([told, first.informer.isStopped, first.informer.status]).toEqual([
      ['delete'],
      true,
      expect.objectContaining({ phase: 'failed', error: expect.objectContaining({ code: 404 }) }),
    ]);
    expect(String(first.informer.status.error)).toContain('echos.example.com: no longer served');
    await client.create(Definition, echoDefinition);
    await cluster.settle();
    await client.create(Echo, echo('b', 'two'));
    const second = factory.acquire(Echo);
    factory.start();
    await cluster.advance(60_000);
    expect([second.informer.indexer.listKeys(), second.informer.status.phase]).toEqual([['default/b'], 'live']);
    expect([others.informer.isStopped, others.informer.status.phase]).toEqual([false, 'live']);
    await second.close();
    await second.informer.whenSynced();
    expect(second.informer.isStopped).toBe(true);
  });

  it('without a factory is named for what its source lists', async () => {
    factory = open();
    const warnings: string[] = [];
    const logger = { ...silentLogger, warn: (text: string) => void warnings.push(text) };
    await client.delete(Definition, { name: 'echos.example.com' });
    await cluster.settle();
    await using informer = new SharedInformer(client.listerWatcher(Echo), { clock: cluster.clock, logger });
    informer.start();
    await cluster.advance(1000);
    expect(warnings).toEqual([expect.stringMatching(/^echos\.example\.com: failed to list or watch/)]);
  });
});
