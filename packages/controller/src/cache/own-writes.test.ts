import type { ResourceClient } from '@kapstan/api';
import {
  configMap,
  FakeListerWatcher,
  settle,
  type TestConfigMap,
  testConfigMaps,
  testPods,
  VirtualClock,
} from '@kapstan/api/testing';
import { describe, expect, it } from 'vitest';
import { InformerCache } from './informer-cache.ts';
import { OwnWrites } from './own-writes.ts';

const target = { namespace: 'default', name: 'a' };

async function start(options: { readonly tweakListOptions?: () => { labelSelector: string } } = {}) {
  const source = new FakeListerWatcher<TestConfigMap>({ startVersion: 5 });
  const clock = new VirtualClock();
  const client = { listerWatcher: () => source } as unknown as ResourceClient;
  const cache = new InformerCache(client, { clock, ...options });
  const ownWrites = new OwnWrites({ cache, clock, timeoutMs: 5000 });
  for (const informer of cache.informers(testConfigMaps)) ownWrites.follow(informer as never);
  cache.start();
  await cache.kinds().waitForSync(new AbortController().signal);
  /** Returns the result of waiting, once everything has settled. */
  const shown = async (writer = 'w'): Promise<boolean | 'waits'> => {
    let answer: boolean | 'waits' = 'waits';
    void ownWrites.shown(writer).then((isShown) => {
      answer = isShown;
    });
    await settle();
    return answer;
  };
  return { source, clock, cache, ownWrites, shown };
}

describe('OwnWrites', () => {
  it('waits for nothing where nothing was written', async () => {
    const { shown, clock } = await start();
    const timers = clock.pendingTimers;
    expect(await shown()).toBe(true);
    expect(clock.pendingTimers).toBe(timers);
  });

  it('waits until the cache shows the object at the version written', async () => {
    const { source, ownWrites } = await start();
    source.add(configMap({ name: 'a' }));
    ownWrites.observer('w').observeWrite(testConfigMaps, target, '8');
    let isShown = false;
    const waiting = ownWrites.shown('w').then(() => {
      isShown = true;
    });
    source.modify(configMap({ name: 'a' }, { k: '7' }));
    await settle();
    expect(isShown).toBe(false);
    source.modify(configMap({ name: 'a' }, { k: '8' }));
    await waiting;
  });

  it.each([
    ['the same version', '6'],
    ['an earlier one', '3'],
  ])('does not wait for what the cache shows already: %s', async (_what, version) => {
    const { source, ownWrites, shown } = await start();
    source.add(configMap({ name: 'a' }));
    ownWrites.observer('w').observeWrite(testConfigMaps, target, version);
    expect(await shown()).toBe(true);
  });

  it('asks again when it is to wait: later changes of others show that all before them is there', async () => {
    const { source, ownWrites, shown } = await start();
    ownWrites.observer('w').observeWrite(testConfigMaps, target, '6');
    source.add(configMap({ name: 'b' }));
    expect(await shown()).toBe(true);
  });

  it('counts an object that was deleted since as shown', async () => {
    const { source, ownWrites } = await start();
    source.add(configMap({ name: 'a' }));
    ownWrites.observer('w').observeWrite(testConfigMaps, target, '7');
    const waiting = ownWrites.shown('w');
    source.delete(target);
    expect(await waiting).toBe(true);
  });

  it('forgets a write when its object is deleted, also while nobody waits', async () => {
    const { source, ownWrites } = await start();
    source.add(configMap({ name: 'a' }));
    ownWrites.observer('w').observeWrite(testConfigMaps, target, '7');
    expect([...ownWrites.unseen()].map(({ key }) => key)).toEqual(['default/a']);
    source.delete(target);
    await settle();
    expect([...ownWrites.unseen()]).toEqual([]);
  });

  it.each([
    ['deleted', 7, () => undefined],
    [
      'made anew',
      8,
      (source: FakeListerWatcher<TestConfigMap>) => void source.add(configMap({ name: 'a' }, { k: 'new' })),
    ],
  ])('is not taken in by a write that is reported only after its object was %s', async (_what, version, then) => {
    const { source, cache, ownWrites, shown } = await start();
    source.add(configMap({ name: 'a' }));
    source.delete(target);
    then(source);
    ownWrites.observer('w').observeWrite(testConfigMaps, target, '6');
    expect(await shown()).toBe(true);
    expect(source.resourceVersion).toBe(String(version));
    expect(cache.reader(testConfigMaps).get(target)?.data).toEqual(version === 7 ? undefined : { k: 'new' });
  });

  it('gives up after the timeout, and does not wait for that write again', async () => {
    const { clock, ownWrites, shown } = await start();
    ownWrites.observer('w').observeWrite(testConfigMaps, target, '99');
    const waiting = ownWrites.shown('w');
    await clock.advance(5000);
    expect(await waiting).toBe(false);
    expect(await shown()).toBe(true);
  });

  it('keeps writers apart', async () => {
    const { ownWrites, shown } = await start();
    ownWrites.observer('w').observeWrite(testConfigMaps, target, '99');
    expect(await shown('other')).toBe(true);
    expect(await shown('w')).toBe('waits');
  });

  it.each([
    ['kinds that nobody watches', {}, testPods],
    [
      'informers with selectors, which may not see the object',
      { tweakListOptions: () => ({ labelSelector: 'a=b' }) },
      testConfigMaps,
    ],
  ])('does not wait for %s', async (_what, options, kind) => {
    const { ownWrites, shown } = await start(options);
    ownWrites.observer('w').observeWrite(kind, target, '99');
    expect(await shown()).toBe(true);
  });

  it('takes only the same version for shown where versions cannot be compared', async () => {
    const { source, ownWrites, shown } = await start();
    source.add(configMap({ name: 'a' }));
    ownWrites.observer('w').observeWrite(testConfigMaps, target, 'opaque');
    expect(await shown()).toBe('waits');
  });
});
