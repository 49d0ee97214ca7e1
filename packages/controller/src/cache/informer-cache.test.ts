import type { Resource, ResourceClient } from '@kapstan/api';
import { configMap, FakeListerWatcher, type TestConfigMap, testConfigMaps, VirtualClock } from '@kapstan/api/testing';
import type { IndexFunction } from '@kapstan/informers';
import { Namespace } from '@kapstan/kinds/core/v1';
import { describe, expect, it } from 'vitest';
import { controllerUidIndex, InformerCache, type InformerCacheOptions } from './informer-cache.ts';

function start(options: InformerCacheOptions = {}) {
  const sources = new Map<string, FakeListerWatcher<TestConfigMap>>();
  const listerWatcher = (resource: Resource, { namespace = '*' }: { readonly namespace?: string } = {}) => {
    const source = new FakeListerWatcher<TestConfigMap>();
    sources.set(`${resource.plural} in ${namespace}`, source);
    return source;
  };
  const clock = new VirtualClock();
  const cache = new InformerCache({ listerWatcher } as unknown as ResourceClient, { clock, ...options });
  return { cache, sources, clock };
}

const owned = (name: string, uid: string, namespace = 'default') =>
  configMap({ name, namespace, ownerReferences: [{ apiVersion: 'v1', kind: 'X', name: 'x', uid, controller: true }] });

describe('InformerCache', () => {
  it('has one informer a kind, whoever asks for it', () => {
    const { cache, sources } = start();
    expect(cache.informers(testConfigMaps)).toBe(cache.informers(testConfigMaps));
    expect([...sources.keys()]).toEqual(['configmaps in *']);
  });

  it('has one a namespace where only some are looked at, and one for a cluster-scoped kind', async () => {
    const { cache, sources } = start({ namespaces: ['a', 'b', 'a'] });
    cache.informers(testConfigMaps);
    cache.informers(Namespace);
    expect([...sources.keys()]).toEqual(['configmaps in a', 'configmaps in b', 'namespaces in a']);
    sources.get('configmaps in a')?.add(configMap({ name: 'one', namespace: 'a', labels: { x: '1' } }));
    sources.get('configmaps in b')?.add(configMap({ name: 'two', namespace: 'b' }));
    cache.start();
    expect(await cache.kinds().waitForSync(new AbortController().signal)).toBe(true);
    const reader = cache.reader(testConfigMaps);
    expect(reader.list().map(({ metadata }) => metadata?.name)).toEqual(['one', 'two']);
    expect(reader.list({ namespace: 'b' }).map(({ metadata }) => metadata?.name)).toEqual(['two']);
    expect(reader.list({ labelSelector: 'x=1' }).map(({ metadata }) => metadata?.name)).toEqual(['one']);
    expect(reader.get({ namespace: 'b', name: 'two' })?.metadata?.name).toBe('two');
    expect(reader.get({ namespace: 'a', name: 'two' })).toBeUndefined();
    const [inA, inB] = cache.informers(testConfigMaps);
    expect(cache.informersOf(testConfigMaps, 'a')).toEqual([inA]);
    expect(cache.informersOf(testConfigMaps, 'b')).toEqual([inB]);
    expect(cache.informersOf(testConfigMaps, 'c')).toEqual([]);
  });

  it('finds objects by the uid of their controller', async () => {
    const { cache, sources } = start();
    cache.informers(testConfigMaps);
    for (const object of [owned('a', 'u1'), owned('b', 'u2'), owned('c', 'u1'), configMap({ name: 'd' })])
      sources.get('configmaps in *')?.add(object);
    cache.start();
    await cache.kinds().waitForSync(new AbortController().signal);
    const found = cache.reader(testConfigMaps).byIndex(controllerUidIndex, 'u1');
    expect(found.map(({ metadata }) => metadata?.name)).toEqual(['a', 'c']);
  });

  it('finds objects by an index that was asked for before, in every namespace that it looks at', async () => {
    const { cache, sources } = start({ namespaces: ['a', 'b'] });
    const byColour: IndexFunction<TestConfigMap> = ({ data }) => [data?.colour];
    cache.informers(testConfigMaps);
    cache.index(testConfigMaps, 'colour', byColour);
    // The same function from another controller does not make a second index.
    cache.index(testConfigMaps, 'colour', byColour);
    for (const [name, namespace, colour] of [
      ['one', 'a', 'red'],
      ['two', 'b', 'red'],
      ['three', 'b', 'blue'],
    ] as const)
      sources.get(`configmaps in ${namespace}`)?.add({ ...configMap({ name, namespace }), data: { colour } });
    cache.start();
    await cache.kinds().waitForSync(new AbortController().signal);
    const names = (colour: string) =>
      cache
        .reader(testConfigMaps)
        .byIndex('colour', colour)
        .map(({ metadata }) => metadata?.name);
    expect([names('red'), names('blue'), names('green')]).toEqual([['one', 'two'], ['three'], []]);
    expect(() => cache.reader(testConfigMaps).byIndex('size', '1')).toThrow('Index with name size does not exist');
  });

  it('refuses a second function under the name of an index, rather than answering one by the other', () => {
    const { cache } = start();
    cache.index(testConfigMaps, 'colour', ({ data }) => [data?.colour]);
    const again = (name: string) => () => cache.index(testConfigMaps, name, ({ data }) => [data?.size]);
    expect(again('colour')).toThrow(new TypeError('ConfigMap has an index named colour with another function'));
    expect(again(controllerUidIndex)).toThrow(TypeError);
    expect(again('namespace')).toThrow(TypeError);
  });

  it.each<[string, Partial<Resource>]>([
    ['kind', { kind: 'Settings' }],
    ['scope', { scope: 'Cluster' }],
  ])('does not share an informer with a resource of another %s', (_what, other) => {
    const { cache, sources } = start({ namespaces: ['a', 'b'] });
    cache.informers(testConfigMaps);
    const wrong = { ...testConfigMaps, ...other } as typeof testConfigMaps;
    expect(() => cache.informers(wrong)).toThrow(/is shared as ConfigMap \(Namespaced\): it cannot be .* too/);
    expect(() => cache.reader(wrong)).toThrow(/is shared as ConfigMap \(Namespaced\): it cannot be .* too/);
    expect([...sources.keys()]).toEqual(['configmaps in a', 'configmaps in b']);
  });

  it('has informers of their own for two versions, each with the selectors of its kind', () => {
    const asked: string[] = [];
    const { cache, sources } = start({
      tweakListOptions: ({ plural, version }) => {
        asked.push(`${plural}.${version}`);
        return plural === 'configmaps' && version === 'v1' ? { labelSelector: 'x=1' } : {};
      },
    });
    const later = { ...testConfigMaps, version: 'v2' } as typeof testConfigMaps;
    expect(cache.informers(later)).not.toBe(cache.informers(testConfigMaps));
    expect(asked).toEqual(expect.arrayContaining(['configmaps.v1', 'configmaps.v2']));
    // With a selector, the cache does not show every write.
    expect(cache.informersOf(testConfigMaps, 'default')).toEqual([]);
    expect(cache.informersOf(later, 'default')).toHaveLength(1);
    expect(sources.size).toBe(1);
  });

  it('refuses to read a kind that nobody watches', () => {
    expect(() => start().cache.reader(testConfigMaps)).toThrow('ConfigMap is not cached');
  });

  it('names what has not synced and what does not follow', async () => {
    const { cache, sources, clock } = start();
    cache.informers(testConfigMaps);
    expect([...cache.problems()]).toEqual([['configmaps.v1', 'not synced']]);
    cache.start();
    await cache.kinds().waitForSync(new AbortController().signal);
    expect([...cache.problems()]).toEqual([]);
    const source = sources.get('configmaps in *');
    for (let i = 0; i < 3; i++) source?.failNext('watch', new Error('refused'));
    source?.resetWatches(new Error('reset'));
    expect([...cache.problems().keys()]).toEqual(['configmaps.v1']);
    await clock.advance(60_000);
    expect([...cache.problems()]).toEqual([]);
    await cache.close();
    expect(clock.pendingTimers).toBe(0);
  });
});
