import { getEventListeners } from 'node:events';
import { silentLogger } from '@kapstan/api';
import { FakeListerWatcher, pod, settle, type TestPod, VirtualClock } from '@kapstan/api/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SharedInformer } from './shared-informer.ts';
import { waitForCacheSync } from './wait-for-cache-sync.ts';

let clock: VirtualClock;
let source: FakeListerWatcher<TestPod>;
let informer: SharedInformer<TestPod>;

beforeEach(() => {
  clock = new VirtualClock();
  source = new FakeListerWatcher<TestPod>();
  informer = new SharedInformer<TestPod>(source, { clock, random: () => 0, useWatchList: false, logger: silentLogger });
});
afterEach(() => informer.close());

/** Returns the present state of a promise. */
async function stateOf(promise: Promise<boolean>): Promise<boolean | 'pending'> {
  await settle();
  return Promise.race([promise, Promise.resolve('pending' as const)]);
}

describe('whenSynced', () => {
  it('is true when the first list is in the cache, whenever it is asked', async () => {
    const early = informer.whenSynced();
    expect(await stateOf(early)).toBe('pending');
    informer.start();
    expect([await stateOf(early), await stateOf(informer.whenSynced())]).toEqual([true, true]);
    await informer.close();
    expect([await informer.whenSynced(), informer.hasSynced]).toEqual([true, true]);
  });

  it('is false when the informer is closed before, started or not', async () => {
    const never = informer.whenSynced();
    await informer.close();
    expect(await stateOf(never)).toBe(false);

    informer = new SharedInformer<TestPod>(source, { clock, useWatchList: false });
    source.list = () => new Promise(() => undefined);
    informer.start();
    const waiting = informer.whenSynced();
    expect(await stateOf(waiting)).toBe('pending');
    await informer.close();
    expect([await stateOf(waiting), await stateOf(informer.whenSynced()), informer.hasSynced]).toEqual([
      false,
      false,
      false,
    ]);
  });

  it('of a registration is false when it is closed before, and when its informer is', async () => {
    source.add(pod({ name: 'a' }));
    const slow = { onAdd: () => new Promise<void>(() => undefined) };
    const [first, second] = [informer.addEventHandler(slow), informer.addEventHandler(slow)];
    informer.start();
    const waits = [first.whenSynced(), second.whenSynced()] as const;
    expect([await stateOf(waits[0]), await stateOf(waits[1])]).toEqual(['pending', 'pending']);
    void first.close();
    expect([await stateOf(waits[0]), await stateOf(waits[1])]).toEqual([false, 'pending']);
    void informer.close();
    expect(await stateOf(waits[1])).toBe(false);
    informer = new SharedInformer<TestPod>(source, { clock });
  });
});

describe('waitForCacheSync of what is closed before', () => {
  it('is false at once, whatever the others do', async () => {
    const other = new SharedInformer<TestPod>(source, { clock });
    const waiting = waitForCacheSync([informer, other]);
    expect(await stateOf(waiting)).toBe('pending');
    await other.close();
    expect(await stateOf(waiting)).toBe(false);
  });
});

describe('a signal', () => {
  it('has one listener, however many wait for caches and events with it', async () => {
    const controller = new AbortController();
    const { signal } = controller;
    informer.start();
    source.list = () => new Promise(() => undefined);
    const late = new SharedInformer<TestPod>(source, { clock, useWatchList: false, logger: silentLogger });
    const waits = Array.from({ length: 12 }, () => waitForCacheSync([late], { signal }));
    const streams = Array.from({ length: 12 }, () => late.watchEvents({ signal })[Symbol.asyncIterator]().next());
    expect(getEventListeners(signal, 'abort')).toHaveLength(1);
    controller.abort();
    expect(new Set(await Promise.all(waits))).toEqual(new Set([false]));
    expect((await Promise.all(streams)).every(({ done }) => done)).toBe(true);
    expect(getEventListeners(signal, 'abort')).toHaveLength(0);
    await late.close();
  });
});
