// Callbacks that must answer synchronously but are async: their promise would count as true, or as empty options. An unhandled rejection
// would end the process, and with it this test run.
import { FakeListerWatcher, pod, settle, type TestPod, testPods, VirtualClock } from '@kapstan/api/testing';
import { of } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { filteringHandler } from './handlers/event-handler.ts';
import { Reflector } from './reflector/reflector.ts';
import { SharedInformer } from './shared-informer.ts';
import { SharedInformerFactory } from './shared-informer-factory.ts';
import { until } from './until.ts';

const rejecting = (): never => Promise.reject(new Error('mine')) as never;
const nothing = (): void => undefined;
const methods = { add: nothing, update: nothing, delete: nothing, replace: nothing };
const must = 'must be there at once, it is a promise';

describe('an async function where an answer is needed', () => {
  it('lets nothing through as a filter, and fails as the handler', async () => {
    const source = new FakeListerWatcher<TestPod>();
    const [added, told]: [unknown[], unknown[]] = [[], []];
    const onHandlerError = (error: unknown): void => void told.push((error as Error).message);
    await using informer = new SharedInformer(source, { clock: new VirtualClock(), onHandlerError });
    informer.addEventHandler(filteringHandler(rejecting, { onAdd: (object) => void added.push(object) }));
    informer.start();
    source.add(pod({ name: 'a' }));
    await settle();
    source.modify(pod({ name: 'a' }));
    source.delete({ namespace: 'default', name: 'a' });
    expect([added, told]).toEqual([[], Array(3).fill(`the answer of a filter ${must}`)]);
  });

  it('changes nothing as a transform: the object stays out, and the informer goes on', async () => {
    const source = new FakeListerWatcher<TestPod>();
    const told: unknown[] = [];
    const onHandlerError = (error: unknown): void => void told.push((error as Error).message);
    await using informer = new SharedInformer(source, {
      clock: new VirtualClock(),
      transform: rejecting,
      onHandlerError,
    });
    informer.start();
    await settle();
    source.add(pod({ name: 'a' }));
    expect(told).toEqual([`what the transform of default/a gives ${must}`]);
    expect([informer.indexer.size, informer.status.phase]).toEqual([0, 'live']);
  });

  it('is refused as tweakListOptions, which would select everything', () => {
    const client = { listerWatcher: () => new FakeListerWatcher() as never };
    const factory = new SharedInformerFactory(client, { tweakListOptions: rejecting });
    expect(() => factory.informer(testPods)).toThrow(new TypeError(`what tweakListOptions gives ${must}`));
  });

  it('is told of as what a store does with an event, and the reflector goes on', async () => {
    const source = new FakeListerWatcher<TestPod>();
    const told: unknown[] = [];
    const store = { ...methods, add: rejecting, update: rejecting, delete: rejecting, bookmark: rejecting };
    await using reflector = new Reflector(source, store, {
      clock: new VirtualClock(),
      onStoreError: (error) => void told.push((error as Error).message),
    });
    reflector.start();
    await settle();
    source.add(pod({ name: 'a' }));
    source.modify(pod({ name: 'a' }));
    source.bookmark();
    source.delete({ namespace: 'default', name: 'a' });
    expect([told, reflector.status.phase]).toEqual([Array(4).fill(`what the store writes ${must}`), 'live']);
  });

  it('is a failed list as the replace of a store, tried again', async () => {
    const told: unknown[] = [];
    const clock = new VirtualClock();
    let calls = 0;
    const store = { ...methods, replace: () => (calls++ === 0 ? rejecting() : undefined) };
    await using reflector = new Reflector(new FakeListerWatcher<TestPod>(), store, {
      clock,
      onWatchError: (error) => void told.push((error as Error).message),
    });
    reflector.start();
    await settle();
    expect(told).toEqual([`unable to sync list result: what the store writes ${must}`]);
    await clock.advance(60_000);
    expect([calls, reflector.status.phase]).toEqual([2, 'live']);
  });

  it('ends the watch as the resync of a store, and a list follows', async () => {
    const told: unknown[] = [];
    const clock = new VirtualClock();
    const store = { ...methods, resync: rejecting };
    await using reflector = new Reflector(new FakeListerWatcher<TestPod>(), store, {
      clock,
      resyncMs: 1000,
      onWatchError: (error) => void told.push((error as Error).message),
    });
    reflector.start();
    await settle();
    await clock.advance(1000);
    expect(told).toEqual([`what the store writes ${must}`]);
  });

  it('ends the waiting as a condition', async () => {
    await expect(until(of(1), [rejecting])).rejects.toThrow(new TypeError(`the answer of a condition ${must}`));
  });
});
