import {
  type DeepReadonly,
  type KubernetesObject,
  type Resource,
  type ResourceClient,
  silentLogger,
} from '@kapstan/api';
import {
  configMap,
  FakeListerWatcher,
  type TestConfigMap,
  testConfigMaps,
  testPods,
  VirtualClock,
} from '@kapstan/api/testing';
import { describe, expect, it } from 'vitest';
import { controller } from '../builder/controller-builder.ts';
import { Manager } from '../manager/manager.ts';
import { InformerCache } from './informer-cache.ts';
import { metadataOnly } from './metadata-only.ts';
import { OwnWrites } from './own-writes.ts';

interface Asked {
  readonly source: FakeListerWatcher<TestConfigMap>;
  readonly metadataOnly: boolean;
}

/** A client that records which informers request only metadata. */
function fakeClient() {
  const asked = new Map<string, Asked>();
  const listerWatcher = ({ plural }: Resource, scope: { readonly metadataOnly?: boolean } = {}) => {
    const source = new FakeListerWatcher<TestConfigMap>();
    asked.set(`${plural} ${scope.metadataOnly === true ? 'metadata' : 'whole'}`, {
      source,
      metadataOnly: scope.metadataOnly === true,
    });
    return source;
  };
  return { asked, client: { listerWatcher } as unknown as ResourceClient };
}

const childOf = (uid: string): TestConfigMap => ({
  ...configMap({
    name: 'a',
    ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'owner', uid, controller: true }],
  }),
  data: { large: 'x' },
});

describe('metadataOnly()', () => {
  it('has a controller list and keep only the metadata of what it owns', async () => {
    const { asked, client } = fakeClient();
    const clock = new VirtualClock();
    const stop = new AbortController();
    const seen: DeepReadonly<KubernetesObject>[] = [];
    const texts: string[] = [];
    const one = controller(testPods)
      .owns(metadataOnly(testConfigMaps))
      .reconcile(async (_pod, { children, cache }) => {
        seen.splice(0, seen.length, ...children(metadataOnly(testConfigMaps)));
        texts.splice(0, texts.length);
        for (const kind of [testConfigMaps, metadataOnly(testPods)] as const)
          try {
            cache(kind as Resource);
          } catch (error) {
            texts.push((error as Error).message);
          }
      });
    const running = new Manager([one], { client, clock, logger: silentLogger, gracePeriodMs: 100 });
    expect([...asked.keys()].sort()).toEqual(['configmaps metadata', 'pods whole']);
    const owner = asked.get('pods whole')?.source.add({ ...configMap({ name: 'owner' }), kind: 'Pod' } as never);
    asked.get('configmaps metadata')?.source.add(childOf(owner?.metadata?.uid ?? ''));
    const ended = running.run(stop.signal);
    await clock.advance(100);
    expect(seen).toMatchObject([{ kind: 'PartialObjectMetadata', metadata: { name: 'a' } }]);
    expect(seen[0]).not.toHaveProperty('data');
    expect(texts).toEqual([
      'only the metadata of ConfigMap is cached: read it with cache(metadataOnly(ConfigMap))',
      'the metadata of Pod is not cached alone: read it with cache(Pod)',
    ]);
    stop.abort();
    await clock.advance(5000);
    await ended;
  });

  it('keeps a kind both ways where both are asked for, and a run waits for both to show its write', async () => {
    const { asked, client } = fakeClient();
    const clock = new VirtualClock();
    const cache = new InformerCache(client, { clock });
    const informers = [testConfigMaps, metadataOnly(testConfigMaps)].flatMap((kind) =>
      cache.informers(kind as Resource),
    );
    expect(informers).toHaveLength(2);
    expect(cache.informersOf(testConfigMaps, 'default')).toEqual(informers);
    const ownWrites = new OwnWrites({ cache, clock, timeoutMs: 1000 });
    for (const informer of informers) ownWrites.follow(informer);
    cache.start();
    await clock.advance(0);
    const written = asked.get('configmaps whole')?.source.add(configMap({ name: 'a' }));
    const version = written?.metadata?.resourceVersion ?? '';
    await clock.advance(0);
    ownWrites.observer('w').observeWrite(testConfigMaps, { namespace: 'default', name: 'a' }, version);
    expect([...ownWrites.unseen()]).toHaveLength(1); // the cache of metadata has not seen it
    await cache.close();
  });

  it('refuses what is no resource', () => {
    expect(() => metadataOnly('pods' as never)).toThrow(TypeError);
  });
});
