import type { ListerWatcher } from '@kapstan/api';
import { expired, forbidden, internalError, tooManyRequests } from '@kapstan/api/errors';
import { FakeListerWatcher, LeakCheck, pod, settle, type TestPod, VirtualClock } from '@kapstan/api/testing';
import { lastValueFrom, NEVER, Observable, toArray } from 'rxjs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Indexer } from '../store/indexer.ts';
import { Reflector } from './reflector.ts';
import type { ReflectorOptions } from './reflector-options.ts';
import type { ReflectorStatus } from './reflector-status.ts';

const refused = (): Error => Object.assign(new Error('connect'), { code: 'ECONNREFUSED' });

let clock: VirtualClock;
let source: FakeListerWatcher<TestPod>;
let indexer: Indexer<TestPod>;
let reflector: Reflector<TestPod>;
let statuses: ReflectorStatus[];
let errors: unknown[];
let leaks: LeakCheck;

function open(options: ReflectorOptions = {}, listerWatcher: ListerWatcher<TestPod> = source): void {
  indexer = new Indexer<TestPod>();
  statuses = [];
  errors = [];
  reflector = new Reflector(listerWatcher, indexer, {
    clock,
    random: () => 0,
    onWatchError: (error) => errors.push(error),
    ...options,
  });
  reflector.status$.subscribe((status) => statuses.push(status));
}

async function run(options: ReflectorOptions = {}): Promise<void> {
  open(options);
  reflector.start();
  await settle();
}

async function warningsOf(act: () => void): Promise<string[]> {
  const warnings: string[] = [];
  const listen = (warning: Error): void => void warnings.push(warning.message);
  process.on('warning', listen);
  act();
  await settle();
  process.off('warning', listen);
  return warnings;
}

const phases = (): string[] => statuses.map(({ phase }) => phase);
const names = (): string => indexer.listKeys().sort().join(' ').replaceAll('default/', '');

beforeEach(() => {
  clock = new VirtualClock();
  leaks = new LeakCheck({ clock });
  source = new FakeListerWatcher<TestPod>({ startVersion: 10 });
});

// I9: a closed reflector leaves no timer and no watch.
afterEach(async () => {
  await reflector.close();
  expect(source.openWatches).toBe(0);
  await leaks.assertNone();
});

describe('Reflector', () => {
  it('streams the present state, then applies what happens', async () => {
    source.add(pod({ name: 'a' }));
    await run();
    source.add(pod({ name: 'b' }));
    source.delete({ name: 'a' });
    expect(names()).toBe('b');
    expect(source.requests).toHaveLength(1);
    expect(source.asked('watch')[0]).toMatchObject({
      sendInitialEvents: true,
      resourceVersionMatch: 'NotOlderThan',
      allowWatchBookmarks: true,
      timeoutSeconds: 300,
    });
    expect(source.asked('watch')[0]).not.toHaveProperty('resourceVersion');
    expect(reflector.lastSyncResourceVersion).toBe('13');
    expect(phases()).toEqual(['syncing', 'live']);
  });

  it('lists and watches where streaming is off or unknown to the server', async () => {
    for (const [useWatchList, supportsWatchList] of [
      [false, true],
      [true, false],
    ] as const) {
      source = new FakeListerWatcher<TestPod>({ startVersion: 10, supportsWatchList });
      source.add(pod({ name: 'a' }));
      await run({ useWatchList });
      expect(source.asked('list')).toMatchObject([{ resourceVersion: '0', limit: 500 }]);
      expect(source.asked('watch').at(-1)).toMatchObject({ resourceVersion: '11' });
      expect(names()).toBe('a');
      await reflector.close();
    }
  });

  it('gathers pages and replaces the store once', async () => {
    for (const name of ['a', 'b', 'c', 'd', 'e']) source.add(pod({ name }));
    await run({ useWatchList: false, pageSize: 2 });
    expect(source.asked('list').map((options) => options.continue)).toEqual([undefined, '15/2', '15/4']);
    expect(source.asked('list')[1]).not.toHaveProperty('resourceVersion');
    expect(names()).toBe('a b c d e');
    expect(reflector.lastSyncResourceVersion).toBe('15');
  });

  it('lists all at once when a page expired on the way', async () => {
    for (const name of ['a', 'b', 'c']) source.add(pod({ name }));
    open({ useWatchList: false, pageSize: 2 });
    const list = source.list.bind(source);
    source.list = (options) => (options.continue === undefined ? list(options) : Promise.reject(expired('old')));
    reflector.start();
    await settle();
    expect(source.asked('list').map(({ limit }) => limit)).toEqual([2, undefined]);
    expect(names()).toBe('a b c');
  });

  it('passes selectors on to lists and watches', async () => {
    source.add(pod({ name: 'a', labels: { app: 'web' } }));
    source.add(pod({ name: 'b' }));
    await run({ useWatchList: false, labelSelector: 'app=web', fieldSelector: 'metadata.name!=z' });
    expect(names()).toBe('a');
    for (const { options } of source.requests) {
      expect(options).toMatchObject({ labelSelector: 'app=web', fieldSelector: 'metadata.name!=z' });
    }
  });

  it('watches on from the last version when the server ends the watch, without a list', async () => {
    await run();
    source.add(pod({ name: 'a' }));
    source.bookmark();
    await clock.advance(2000);
    source.resetWatches();
    source.add(pod({ name: 'b' }));
    expect(names()).toBe('a b');
    expect(source.asked('watch').map(({ resourceVersion }) => resourceVersion)).toEqual([undefined, '12']);
    expect(phases()).toEqual(['syncing', 'live']);
  });

  it('comes through a reset connection: watches on from the last version, and misses nothing (I1, I3)', async () => {
    source.add(pod({ name: 'a' }));
    await run();
    source.resetWatches(Object.assign(new Error('reset'), { code: 'ECONNRESET' }));
    source.delete({ name: 'a' });
    source.add(pod({ name: 'b' }));
    await settle();
    expect(names()).toBe('b');
    expect(source.asked('watch').at(-1)).toMatchObject({ resourceVersion: '11' });
    expect(source.asked('watch').at(-1)?.sendInitialEvents).toBeUndefined();
    expect(phases()).toEqual(['syncing', 'live', 'stale', 'live']);
  });

  it('comes through a 410: lists again and replaces the store (I3, I7)', async () => {
    source.add(pod({ name: 'a' }));
    await run({ useWatchList: false });
    source.resetWatches(expired('too old resource version: 11 (12)'));
    source.delete({ name: 'a' });
    source.expire();
    await clock.advance(800);
    expect(names()).toBe('');
    expect(source.asked('list').at(-1)).toMatchObject({ resourceVersion: '11' });
    expect(phases()).toEqual(['syncing', 'live', 'stale', 'live']);
  });

  it('comes through a half-open connection: 90 s of silence, and it watches on from the last version', async () => {
    source.add(pod({ name: 'a' }));
    await run();
    await clock.advance(30_000);
    source.bookmark();
    source.halfOpen();
    source.add(pod({ name: 'b' }));
    await clock.advance(89_000);
    expect(names()).toBe('a');
    await clock.advance(1000);
    expect(names()).toBe('a b');
    expect(source.asked('watch').at(-1)).toMatchObject({ resourceVersion: '12' });
    expect(source.openWatches).toBe(1);
    expect(phases()).toEqual(['syncing', 'live', 'stale', 'live']);
  });

  it('does not give up a stream that bookmarks keep alive', async () => {
    await run();
    for (let i = 0; i < 10; i++) {
      await clock.advance(60_000);
      source.bookmark();
    }
    expect(source.requests).toHaveLength(1);
  });

  it('waits with growing pauses for a server that is down, without a list', async () => {
    await run();
    source.add(pod({ name: 'a' }));
    for (let i = 0; i < 3; i++) source.failNext('watch', refused());
    await clock.advance(1500);
    source.resetWatches();
    await clock.advance(800 + 1600 + 3200 - 1);
    expect(source.openWatches).toBe(0);
    await clock.advance(1);
    expect(source.asked('list')).toEqual([]);
    expect(source.asked('watch').at(-1)).toMatchObject({ resourceVersion: '11' });
    expect(errors).toHaveLength(3);
    expect(phases()).toEqual(['syncing', 'live', 'retrying', 'retrying', 'retrying', 'live']);
  });

  it('does as a busy server asks: comes back later, without a list', async () => {
    await run();
    source.resetWatches(tooManyRequests('slow down', 1));
    await clock.advance(800);
    expect(source.asked('watch').at(-1)).toMatchObject({ resourceVersion: '10' });
  });

  it('says that it is refused, and goes on asking', async () => {
    open({ useWatchList: false });
    const forbiddenError = forbidden({ group: '', resource: 'pods' }, '', 'no');
    for (let i = 0; i < 3; i++) source.failNext('list', forbiddenError);
    reflector.start();
    await settle();
    expect(reflector.status).toEqual({ phase: 'failed', since: clock.now(), error: forbiddenError });
    const since = clock.now();
    await clock.advance(800);
    expect(reflector.status).toMatchObject({ phase: 'failed', since });
    await clock.advance(1600 + 3200);
    expect(reflector.status).toEqual({ phase: 'live', since: clock.now() });
    expect(errors).toEqual([forbiddenError, forbiddenError, forbiddenError]);
  });

  it('takes a server whose history began anew: a version from the future is asked for no more', async () => {
    source = new FakeListerWatcher<TestPod>({ startVersion: 500 });
    await run({ useWatchList: false });
    const younger = new FakeListerWatcher<TestPod>({ startVersion: 20 });
    younger.add(pod({ name: 'a' }));
    source.list = (options) => younger.list(options);
    source.watch = (options) => younger.watch(options);
    source.resetWatches(internalError('gone'));
    await clock.advance(800);
    expect(younger.asked('list').map(({ resourceVersion }) => resourceVersion)).toEqual(['500', undefined]);
    expect([names(), reflector.lastSyncResourceVersion]).toEqual(['a', '21']);
    await reflector.close();
  });

  it('keeps the last good state while lists fail', async () => {
    source.add(pod({ name: 'a' }));
    await run({ useWatchList: false });
    for (let i = 0; i < 5; i++) source.failNext('list', internalError('boom'));
    source.resetWatches(internalError('boom'));
    await clock.advance(20_000);
    expect(names()).toBe('a');
    expect(reflector.status.phase).toBe('retrying');
    await clock.advance(31_000);
    expect(reflector.status.phase).toBe('live');
  });

  it('counts a replace that throws as a failed list', async () => {
    open();
    let failures = 1;
    const replace = indexer.replace.bind(indexer);
    indexer.replace = (objects, version) => {
      if (failures-- > 0) throw new Error('no space');
      replace(objects, version);
    };
    source.add(pod({ name: 'a' }));
    reflector.start();
    expect(errors).toMatchObject([{ message: 'unable to sync list result: no space' }]);
    expect(source.openWatches).toBe(0);
    await clock.advance(800);
    expect(names()).toBe('a');
  });

  it('reports what the store throws on one event, and goes on with the next', async () => {
    const storeErrors: unknown[] = [];
    await run({ onStoreError: (error) => storeErrors.push(error) });
    const add = indexer.add.bind(indexer);
    indexer.add = (object) => {
      if (object.metadata?.name === 'bad') throw new Error('bad object');
      add(object);
    };
    source.add(pod({ name: 'bad' }));
    source.add(pod({ name: 'good' }));
    expect(storeErrors).toEqual([new Error('bad object')]);
    expect([names(), reflector.lastSyncResourceVersion]).toEqual(['good', '12']);
  });

  it('calls onStoreError as a method of its options', async () => {
    const options = {
      told: [] as unknown[],
      onStoreError(error: unknown): void {
        this.told.push(error);
      },
    };
    await run(options);
    indexer.add = () => {
      throw new Error('bad object');
    };
    source.add(pod({ name: 'bad' }));
    expect(options.told).toEqual([new Error('bad object')]);
  });

  it('skips an event without metadata and keeps its version', async () => {
    const storeErrors: unknown[] = [];
    const broken: ListerWatcher<TestPod> = {
      list: (options) => source.list(options),
      watch: () =>
        new Observable((subscriber) => {
          subscriber.next({ type: 'ADDED', object: { kind: 'Table' } as never });
        }),
    };
    open({ useWatchList: false, onStoreError: (error) => storeErrors.push(error) }, broken);
    reflector.start();
    await settle();
    expect(storeErrors).toHaveLength(1);
    expect(reflector.lastSyncResourceVersion).toBe('10');
  });

  it('survives sources that throw instead of failing', async () => {
    const rude: ListerWatcher<TestPod> = {
      list: () => {
        throw new Error('rude list');
      },
      watch: () => {
        throw new Error('rude watch');
      },
    };
    open({}, rude);
    reflector.start();
    await settle();
    expect(errors).toEqual([new Error('rude list')]);
  });

  it('resyncs on time, if asked to, counted from the list', async () => {
    const calls: number[] = [];
    let wanted = true;
    open({ shouldResync: () => wanted });
    const store = Object.assign(indexer, { resync: () => calls.push(clock.monotonicNow()) });
    expect(store).toBe(indexer);
    reflector.start({ resyncMs: 10_000 });
    await clock.advance(25_000);
    wanted = false;
    await clock.advance(10_000);
    expect(calls).toEqual([10_000, 20_000]);
  });

  it('lists again when a resync fails', async () => {
    open();
    Object.assign(indexer, {
      resync: () => {
        throw new Error('resync failed');
      },
    });
    reflector.start({ resyncMs: 10_000 });
    await clock.advance(10_000);
    expect(errors).toEqual([new Error('resync failed')]);
    expect(source.openWatches).toBe(0);
    await clock.advance(800);
    expect(source.openWatches).toBe(1);
  });

  it('closes while it lists, waits and watches, and says so on status$ (I9)', async () => {
    open({ useWatchList: false });
    source.list = () => new Promise(() => undefined);
    const all = lastValueFrom(reflector.status$.pipe(toArray()));
    reflector.start();
    await settle();
    await reflector.close();
    await reflector.close();
    expect(await all).toEqual([{ phase: 'syncing', since: clock.now() }]);
    expect(await lastValueFrom(reflector.status$)).toMatchObject({ phase: 'syncing' });
    reflector.start();

    source = new FakeListerWatcher<TestPod>();
    open({ useWatchList: false });
    source.failNext('list', refused());
    reflector.start();
    await settle();
    expect(clock.pendingTimers).toBe(1);
    await reflector.close();
    expect(clock.pendingTimers).toBe(0);
  });

  it('aborts a list under way when it closes', async () => {
    open({ useWatchList: false });
    let signal: AbortSignal | undefined;
    source.list = (options) => {
      signal = options.signal;
      return new Promise(() => undefined);
    };
    reflector.start();
    await settle();
    await reflector.close();
    expect(signal?.aborted).toBe(true);
  });

  it('takes in order what a store causes while it is being written (I4)', async () => {
    await run();
    const add = indexer.add.bind(indexer);
    const order: string[] = [];
    indexer.add = (object) => {
      order.push(`begin ${object.metadata?.name}`);
      add(object);
      if (object.metadata?.name === 'a') source.add(pod({ name: 'b' }));
      order.push(`end ${object.metadata?.name}`);
    };
    source.add(pod({ name: 'a' }));
    expect(order).toEqual(['begin a', 'end a', 'begin b', 'end b']);
    expect(reflector.lastSyncResourceVersion).toBe('12');
  });

  it('takes each of what waits once, in order, whatever throws on the way', async () => {
    await run({
      onStoreError: () => {
        throw new Error('from the report');
      },
    });
    const applied: string[] = [];
    const add = indexer.add.bind(indexer);
    indexer.add = (object) => {
      const name = object.metadata?.name ?? '';
      applied.push(name);
      if (name === 'a') for (const next of ['b', 'bad', 'c']) source.add(pod({ name: next }));
      if (name === 'bad') throw new Error('bad object');
      add(object);
    };
    const warnings = await warningsOf(() => source.add(pod({ name: 'a' })));
    source.add(pod({ name: 'd' }));
    expect(applied).toEqual(['a', 'b', 'bad', 'c', 'd']);
    expect(reflector.lastSyncResourceVersion).toBe('15');
    expect(warnings).toEqual(['objects: onStoreError failed: from the report']);
  });

  it('goes on after a bookmark that the store refuses', async () => {
    const storeErrors: unknown[] = [];
    await run({ onStoreError: (error) => storeErrors.push(error) });
    indexer.bookmark = () => {
      throw new Error('no bookmark');
    };
    source.bookmark();
    expect(reflector.lastSyncResourceVersion).toBe('11');
    expect(storeErrors).toEqual([new Error('no bookmark')]);
  });

  it('opens the next watch although the end of the last one throws', async () => {
    const storeErrors: unknown[] = [];
    const clumsy: ListerWatcher<TestPod> = {
      list: (options) => source.list(options),
      watch: (options) =>
        new Observable((subscriber) => {
          const inner = source.watch(options).subscribe(subscriber);
          return () => {
            inner.unsubscribe();
            throw new Error('bad teardown');
          };
        }),
    };
    open({ onStoreError: (error) => storeErrors.push(error) }, clumsy);
    reflector.start();
    await settle();
    await clock.advance(90_000); // silence
    source.add(pod({ name: 'a' }));
    expect([names(), source.asked('watch').length, source.openWatches]).toEqual(['a', 2, 1]);
    await reflector.close();
    expect(storeErrors).toHaveLength(2);
  });

  it.each([{ items: null }, { items: 'abc' }, undefined])('counts a list that is none as failed: %o', async (page) => {
    open({ useWatchList: false });
    const list = source.list.bind(source);
    let isBroken = true;
    source.list = (options) => (isBroken ? Promise.resolve(page as never) : list(options));
    reflector.start();
    await settle();
    expect(errors.map(String)).toEqual(['TypeError: unable to understand list result: it has no items']);
    isBroken = false;
    await clock.advance(800);
    expect(reflector.status.phase).toBe('live');
  });

  it('arms no resync any more when a resync closes it (I9)', async () => {
    open();
    Object.assign(indexer, { resync: () => void reflector.close() });
    reflector.start({ resyncMs: 10_000 });
    await clock.advance(10_000);
    expect(clock.pendingTimers).toBe(0);
  });

  it('resyncs again after a resync that failed while it waited for the server', async () => {
    open();
    let calls = 0;
    Object.assign(indexer, {
      resync: () => {
        calls++;
        if (calls === 1) throw new Error('resync failed');
      },
    });
    reflector.start({ resyncMs: 10_000 });
    await clock.advance(9_900);
    source.failNext('watch', refused());
    source.resetWatches();
    expect(reflector.status.phase).toBe('retrying');
    await clock.advance(100);
    expect([calls, source.openWatches]).toEqual([1, 0]);
    await clock.advance(10_000);
    expect([calls, source.openWatches]).toEqual([2, 1]);
  });

  it('warns of trouble that no callback receives', async () => {
    await run();
    indexer.add = () => {
      throw new Error('bad object');
    };
    expect(await warningsOf(() => source.add(pod({ name: 'a' })))).toEqual(['objects: bad object']);
  });

  it('refuses options that make no sense', () => {
    open();
    const quiet: ListerWatcher<TestPod> = { list: () => new Promise(() => undefined), watch: () => NEVER };
    expect(() => new Reflector(quiet, indexer, { pageSize: -1 })).toThrow(TypeError);
  });
});
