import type { ListerWatcher } from '@kapstan/api';
import { notFound } from '@kapstan/api/errors';
import { FakeListerWatcher, pod, settle, type TestPod, testPods, VirtualClock } from '@kapstan/api/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import { Reflector } from './reflector/reflector.ts';
import { SharedInformer } from './shared-informer.ts';
import { SharedInformerFactory } from './shared-informer-factory.ts';
import { Indexer } from './store/indexer.ts';
import { untilWithSync } from './until.ts';

type Callbacks = Readonly<Record<string, (...given: never[]) => unknown>>;

/** Returns options that record which of their functions are called as their methods, and which are not. */
function watching<C extends Callbacks>(callbacks: C): { options: C; calls: () => readonly string[] } {
  const calls = new Set<string>();
  const options = Object.fromEntries(
    Object.entries(callbacks).map(([name, callback]) => {
      function called(this: unknown, ...given: never[]): unknown {
        calls.add(this === options ? name : `${name} of another`);
        return callback(...given);
      }
      return [name, called];
    }),
  ) as C;
  return { options, calls: () => [...calls].sort() };
}

let clock: VirtualClock;
let source: FakeListerWatcher<TestPod>;
beforeEach(() => {
  clock = new VirtualClock();
  source = new FakeListerWatcher<TestPod>({ startVersion: 10 });
});

const broken = (): never => {
  throw new Error('broken');
};

/** Delays the first list by a minute, so that it causes a warning. */
function slow(inner: FakeListerWatcher<TestPod>): ListerWatcher<TestPod> {
  return {
    supportsWatchList: false,
    list: async (options) => {
      await new Promise<void>((resolve) => void clock.setTimer(resolve, 60_000));
      return await inner.list(options);
    },
    watch: (options) => inner.watch(options),
  };
}

describe('callbacks are called as methods of the options in which they were given', () => {
  it('by a reflector', async () => {
    const { options, calls } = watching({
      random: () => 0,
      shouldResync: () => true,
      onWatchError: () => undefined,
      onWarning: () => undefined,
      onStoreError: () => undefined,
    });
    const store = new Indexer<TestPod>();
    store.add = broken;
    const reflector = new Reflector(slow(source), store, Object.assign(options, { clock, resyncMs: 1000 }));
    reflector.start();
    await clock.advance(62_000);
    source.add(pod({ name: 'a' }));
    source.resetWatches(new Error('gone'));
    await clock.advance(5000);
    await reflector.close();
    expect(calls()).toEqual(['onStoreError', 'onWarning', 'onWatchError', 'random', 'shouldResync']);
  });

  it('by an informer', async () => {
    const { options, calls } = watching({
      random: () => 0,
      onWatchError: () => undefined,
      onHandlerError: () => undefined,
      transform: <O>(object: O): O => object,
    });
    const informer = new SharedInformer(source, Object.assign(options, { clock }));
    informer.addEventHandler({ onAdd: broken });
    informer.start();
    await settle();
    source.add(pod({ name: 'a' }));
    source.resetWatches(new Error('down'));
    await clock.advance(60_000);
    await informer.close();
    expect(calls()).toEqual(['onHandlerError', 'onWatchError', 'random', 'transform']);
  });

  it('by a factory, of its own and of a request', async () => {
    const { options, calls } = watching({
      random: () => 0,
      onWatchError: () => undefined,
      onHandlerError: () => undefined,
      transform: <O>(object: O): O => object,
      tweakListOptions: () => ({}),
      isServed: async () => true,
    });
    const request = watching({ onHandlerError: () => undefined, transform: <O>(object: O): O => object });
    const factory = new SharedInformerFactory(
      { listerWatcher: () => source as never },
      Object.assign(options, { clock }),
    );
    for (const informer of [factory.informer(testPods), factory.metadataInformer(testPods, request.options)])
      informer.addEventHandler({ onAdd: broken });
    source.add(pod({ name: 'a' }));
    factory.start();
    await settle();
    source.failNext('watch', notFound({ group: '', resource: 'pods' }, ''));
    source.resetWatches();
    await clock.advance(60_000);
    await factory.close();
    expect(calls()).toEqual(['isServed', 'onHandlerError', 'onWatchError', 'random', 'transform', 'tweakListOptions']);
    expect(request.calls()).toEqual(['onHandlerError', 'transform']);
  });

  it('by an indexer, and by who waits for a cache', async () => {
    const indexer = watching({ onIndexError: () => undefined });
    new Indexer<TestPod>({ bad: broken }, indexer.options).add(pod({ name: 'a' }));
    expect(indexer.calls()).toEqual(['onIndexError']);
    const waiting = watching({ precondition: () => true });
    await untilWithSync(source, [() => true], Object.assign(waiting.options, { clock }));
    expect(waiting.calls()).toEqual(['precondition']);
  });
});
