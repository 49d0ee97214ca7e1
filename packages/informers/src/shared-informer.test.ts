import { type DeepReadonly, silentLogger } from '@kapstan/api';
import { expired, internalError } from '@kapstan/api/errors';
import { FakeListerWatcher, LeakCheck, pod, settle, type TestPod, testPods, VirtualClock } from '@kapstan/api/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type DeletedFinalStateUnknown, isDeletedFinalStateUnknown } from './fifo/deleted-final-state-unknown.ts';
import { filteringHandler, type ResourceEventHandler } from './handlers/event-handler.ts';
import { SharedInformer } from './shared-informer.ts';
import type { SharedInformerOptions } from './shared-informer-options.ts';
import { waitForCacheSync } from './wait-for-cache-sync.ts';

type Pod = DeepReadonly<TestPod>;
let clock: VirtualClock;
let source: FakeListerWatcher<TestPod>;
let informer: SharedInformer<TestPod>;
let errors: unknown[];
let leaks: LeakCheck;

function create(options: SharedInformerOptions<TestPod> = {}): SharedInformer<TestPod> {
  errors = [];
  informer = new SharedInformer<TestPod>(source, {
    clock,
    random: () => 0,
    resource: testPods,
    onHandlerError: (error) => errors.push(error),
    logger: silentLogger,
    ...options,
  });
  return informer;
}

async function started(options: SharedInformerOptions<TestPod> = {}): Promise<SharedInformer<TestPod>> {
  create(options).start();
  await settle();
  return informer;
}

const describePod = (object: Pod | DeletedFinalStateUnknown<TestPod>): string =>
  isDeletedFinalStateUnknown<TestPod>(object)
    ? `†${object.key}`
    : `${object.metadata?.name}@${object.metadata?.resourceVersion}`;

/** Records all calls. */
function recorder(): ResourceEventHandler<TestPod> & { readonly calls: string[] } {
  const calls: string[] = [];
  return {
    calls,
    onAdd: (object, isInInitialList) =>
      void calls.push(`add ${describePod(object)}${isInInitialList ? ' initial' : ''}`),
    onUpdate: (before, after) => void calls.push(`update ${describePod(before)} ${describePod(after)}`),
    onDelete: (object) => void calls.push(`delete ${describePod(object)}`),
  };
}

const names = (): string =>
  informer.lister
    .list()
    .map((object) => object.metadata?.name)
    .sort()
    .join(' ');

beforeEach(() => {
  clock = new VirtualClock();
  leaks = new LeakCheck({ clock });
  source = new FakeListerWatcher<TestPod>({ startVersion: 10 });
});
afterEach(async () => {
  await informer.close();
  expect(source.openWatches).toBe(0);
  await leaks.assertNone();
});

describe('SharedInformer: the walk of one event', () => {
  it.each(['delta', 'inOrder'] as const)(
    'fills the cache, then tells handlers, in the same turn as the event (%s)',
    async (fifo) => {
      source.add(pod({ name: 'a' }));
      create({ fifo });
      const seen: string[] = [];
      informer.addEventHandler({
        onAdd: (object) => void seen.push(`${describePod(object)} cached: ${names()}`),
        onDelete: (object) => void seen.push(`†${describePod(object)} cached: ${names()}`),
      });
      informer.start();
      await settle();
      source.add(pod({ name: 'b' }));
      source.delete({ name: 'a' });
      expect(seen).toEqual(['a@11 cached: a', 'b@12 cached: a b', '†a@13 cached: b']);
      expect(informer.lastSyncResourceVersion).toBe('13');
      expect(informer.indexer.resourceVersion).toBe('13');
    },
  );

  it('tells the initial list apart from what happens', async () => {
    source.add(pod({ name: 'a' }));
    const handler = recorder();
    create().addEventHandler(handler);
    informer.start();
    await settle();
    source.add(pod({ name: 'b' }));
    source.modify(pod({ name: 'b' }));
    source.delete({ name: 'b' });
    expect(handler.calls).toEqual(['add a@11 initial', 'add b@12', 'update b@12 b@13', 'delete b@14']);
  });

  it('lets a handler cause further events without nesting them (I4)', async () => {
    const first: string[] = [];
    const second: string[] = [];
    create().addEventHandler({
      onAdd: (object) => {
        first.push(`begin ${object.metadata?.name}`);
        if (object.metadata?.name === 'a') source.add(pod({ name: 'b' }));
        first.push(`end ${object.metadata?.name}`);
      },
    });
    informer.addEventHandler({ onAdd: (object) => void second.push(object.metadata?.name ?? '') });
    informer.start();
    await settle();
    source.add(pod({ name: 'a' }));
    expect(first).toEqual(['begin a', 'end a', 'begin b', 'end b']);
    expect(second).toEqual(['a', 'b']);
  });

  it('caches and tells what the transform made, once per object', async () => {
    source.add(pod({ name: 'a' }));
    let transforms = 0;
    const strip = (object: Pod): Pod => {
      transforms++;
      const { spec: _, ...rest } = object;
      return rest;
    };
    create().setTransform(strip);
    const seen: unknown[] = [];
    informer.addEventHandler({ onAdd: (object) => void seen.push(object.spec) });
    informer.start();
    await settle();
    expect(seen).toEqual([undefined]);
    expect(informer.lister.list()[0]).not.toHaveProperty('spec');
    expect(transforms).toBe(1);
    expect(() => informer.setTransform(strip)).toThrow('informer has already started');
  });

  it('reports a transform or an index function that throws, and goes on', async () => {
    await started({
      transform: (object) => {
        if (object.metadata?.name === 'bad') throw new Error('bad transform');
        return object;
      },
      indexers: {
        picky: (object) => {
          if (object.metadata?.name === 'worse') throw new Error('bad index');
          return [];
        },
      },
    });
    for (const name of ['bad', 'worse', 'good']) source.add(pod({ name }));
    expect(names()).toBe('good worse');
    expect(errors.map(String)).toEqual([
      'Error: the transform of default/bad failed: bad transform',
      'Error: unable to calculate an index entry for key "default/worse" on index "picky": bad index',
    ]);
    expect(informer.handlerErrors).toBe(2);
  });

  it('counts a list with an object that cannot be transformed as failed, and tries again', async () => {
    let failures = 1;
    source.add(pod({ name: 'a' }));
    source.add(pod({ name: 'b' }));
    await started({
      transform: (object) => {
        if (object.metadata?.name === 'b' && failures-- > 0) throw new Error('bad transform');
        return object;
      },
    });
    expect([names(), informer.hasSynced, informer.status.phase]).toEqual(['a', false, 'retrying']);
    await clock.advance(800);
    expect([names(), informer.hasSynced, informer.status.phase]).toEqual(['a b', true, 'live']);
  });

  it('processes a large list in slices, so that the event loop is not held up', async () => {
    for (let i = 0; i < 3000; i++) source.add(pod({ name: `p${i}` }));
    let now = 0;
    const slow = {
      ...clock,
      now: () => 0,
      monotonicNow: () => now,
      setTimer: () => () => undefined,
      setBackgroundTimer: () => () => undefined,
    };
    create({ clock: slow });
    let turns = 0;
    informer.addEventHandler({
      onAdd: () => {
        now += 0.1;
      },
    });
    informer.start();
    while (!informer.hasSynced && turns < 1000) {
      turns++;
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(turns).toBeGreaterThan(10);
    expect(informer.indexer.size).toBe(3000);
  });
});

describe('SharedInformer: trouble with the source', () => {
  it.each(['delta', 'inOrder'] as const)(
    'announces after a relist every object that vanished meanwhile (I7, %s)',
    async (fifo) => {
      for (const name of ['a', 'b', 'c']) source.add(pod({ name }));
      const handler = recorder();
      create({ fifo, useWatchList: false }).addEventHandler(handler);
      informer.start();
      await settle();
      handler.calls.length = 0;
      source.resetWatches(expired('too old'));
      source.delete({ name: 'a' });
      source.delete({ name: 'b' });
      source.modify(pod({ name: 'c' }));
      source.add(pod({ name: 'd' }));
      source.expire();
      await clock.advance(800);
      expect(handler.calls.sort()).toEqual(['add d@17', 'delete †default/a', 'delete †default/b', 'update c@13 c@16']);
      expect(names()).toBe('c d');
    },
  );

  it('stays right through a reset connection (I7)', async () => {
    source.add(pod({ name: 'a' }));
    const handler = recorder();
    create().addEventHandler(handler);
    informer.start();
    await settle();
    source.resetWatches(Object.assign(new Error('reset'), { code: 'ECONNRESET' }));
    source.delete({ name: 'a' });
    source.add(pod({ name: 'b' }));
    await clock.advance(800);
    // The watch resumed from the last version, so the deletion itself was delivered.
    expect(handler.calls).toEqual(['add a@11 initial', 'delete a@12', 'add b@13']);
    expect(names()).toBe('b');
  });

  it('stays right through a half-open connection', async () => {
    source.add(pod({ name: 'a' }));
    const handler = recorder();
    create().addEventHandler(handler);
    informer.start();
    await settle();
    source.halfOpen();
    source.delete({ name: 'a' });
    await clock.advance(90_000);
    expect(handler.calls).toEqual(['add a@11 initial', 'delete a@12']);
    expect(informer.status.phase).toBe('live');
  });

  it('shows a deletion and re-creation that was missed as an update with another uid', async () => {
    source.add(pod({ name: 'a', uid: 'one' }));
    const uids: (string | undefined)[] = [];
    create({ useWatchList: false }).addEventHandler({
      onUpdate: (before, after) => void uids.push(before.metadata?.uid, after.metadata?.uid),
    });
    informer.start();
    await settle();
    source.resetWatches(internalError('x'));
    source.delete({ name: 'a' });
    source.add(pod({ name: 'a', uid: 'two' }));
    await clock.advance(800);
    expect(uids).toEqual(['one', 'two']);
  });

  it('tells onWatchError of every failure and goes on', async () => {
    const told: string[] = [];
    create({
      useWatchList: false,
      onWatchError: (error, { phase }) => told.push(`${phase}: ${(error as Error).message}`),
    });
    source.failNext('list', internalError('boom'));
    informer.start();
    await clock.advance(800);
    expect(told).toEqual(['retrying: Internal error occurred: boom']);
    expect(informer.hasSynced).toBe(true);
  });
});

describe('SharedInformer: handlers', () => {
  it('isolates and counts a handler that throws or rejects (I8)', async () => {
    create();
    const good = recorder();
    const bad = informer.addEventHandler({
      onAdd: () => {
        throw new Error('sync');
      },
    });
    const worse = informer.addEventHandler({ onAdd: () => Promise.reject(new Error('async')) });
    informer.addEventHandler(good);
    informer.start();
    await settle();
    source.add(pod({ name: 'a' }));
    source.add(pod({ name: 'b' }));
    await settle();
    expect(good.calls).toHaveLength(2);
    expect([bad.errors, worse.errors, informer.handlerErrors]).toEqual([2, 2, 4]);
    expect(errors.map(String).sort()).toEqual(['Error: async', 'Error: async', 'Error: sync', 'Error: sync']);
    expect(informer.status.phase).toBe('live');
  });

  it('calls onHandlerError as a method of its options', async () => {
    const options = {
      told: [] as unknown[],
      onHandlerError(error: unknown): void {
        this.told.push(error);
      },
    };
    await started(options);
    informer.addEventHandler({
      onAdd: () => {
        throw new Error('x');
      },
    });
    source.add(pod({ name: 'a' }));
    expect(options.told).toEqual([new Error('x')]);
  });

  it('survives an onHandlerError that throws', async () => {
    const warnings: string[] = [];
    await started({
      onHandlerError: () => {
        throw new Error('from the report');
      },
      logger: { ...silentLogger, warn: (message) => void warnings.push(message) },
    });
    informer.addEventHandler({
      onAdd: () => {
        throw new Error('x');
      },
    });
    source.add(pod({ name: 'a' }));
    expect(warnings).toEqual(['pods: onHandlerError failed: from the report']);
    expect(names()).toBe('a');
  });

  it('replays the cache to a late handler, as an initial list of its own', async () => {
    source.add(pod({ name: 'a' }));
    await started();
    source.add(pod({ name: 'b' }));
    const handler = recorder();
    const registration = informer.addEventHandler(handler);
    expect(handler.calls).toEqual(['add a@11 initial', 'add b@12 initial']);
    expect(registration.hasSynced).toBe(true);
    source.modify(pod({ name: 'b' }));
    expect(handler.calls.slice(2)).toEqual(['update b@12 b@13']);
  });

  it('tells a handler that joins during a delivery of each object once', async () => {
    await started();
    const late = recorder();
    informer.addEventHandler({
      onAdd: (object) => void (object.metadata?.name === 'a' && informer.addEventHandler(late)),
    });
    source.add(pod({ name: 'a' }));
    source.add(pod({ name: 'b' }));
    expect(late.calls).toEqual(['add a@11 initial', 'add b@12']);
  });

  it('says of each registration whether it was told all of the initial list', async () => {
    source.add(pod({ name: 'a' }));
    create();
    let release: () => void = () => undefined;
    const slow = informer.addEventHandler({ onAdd: () => new Promise<void>((resolve) => (release = resolve)) });
    const failing = informer.addEventHandler({
      onAdd: () => {
        throw new Error('x');
      },
    });
    const quick = informer.addEventHandler({});
    expect([quick.hasSynced, informer.hasSynced]).toEqual([false, false]);
    informer.start();
    await settle();
    expect([informer.hasSynced, quick.hasSynced, slow.hasSynced, failing.hasSynced]).toEqual([
      true,
      true,
      false,
      false,
    ]);
    release();
    await slow.whenSynced();
    expect([slow.hasSynced, failing.hasSynced]).toEqual([true, false]);
  });

  it('syncs on an empty list', async () => {
    create();
    const registration = informer.addEventHandler({});
    informer.start();
    expect(await waitForCacheSync([informer, registration])).toBe(true);
  });

  it('keeps at most one pending change per object for a slow handler (I5)', async () => {
    await started();
    const calls: string[] = [];
    const releases: (() => void)[] = [];
    const slowly = (text: string): Promise<void> => {
      calls.push(text);
      return new Promise((resolve) => releases.push(resolve));
    };
    const registration = informer.addEventHandler({
      onAdd: (object) => slowly(`add ${describePod(object)}`),
      onUpdate: (before, after) => slowly(`update ${describePod(before)} ${describePod(after)}`),
      onDelete: (object) => slowly(`delete ${describePod(object)}`),
    });
    const other = recorder();
    informer.addEventHandler(other);
    source.add(pod({ name: 'a' })); // 11, being handled
    for (let i = 0; i < 5; i++) source.modify(pod({ name: 'a' })); // 12…16, merged
    source.add(pod({ name: 'b' })); // 17
    source.modify(pod({ name: 'b' })); // 18, merged into the addition
    source.add(pod({ name: 'c' })); // 19
    source.delete({ name: 'c' }); // 20, never told
    expect(registration.backlog).toBe(2);
    expect(other.calls).toHaveLength(10);
    for (let i = 0; i < 3; i++) {
      releases[i]?.();
      await settle();
    }
    expect(calls).toEqual(['add a@11', 'update a@11 a@16', 'add b@18']);
    expect(registration.backlog).toBe(0);
  });

  it('stops calling a removed handler, drops what waits for it, and lets others alone', async () => {
    await started();
    const [first, second] = [recorder(), recorder()];
    const registration = informer.addEventHandler(first);
    informer.addEventHandler(second);
    source.add(pod({ name: 'a' }));
    informer.removeEventHandler(registration);
    informer.removeEventHandler(registration);
    await registration.close();
    source.add(pod({ name: 'b' }));
    expect([first.calls.length, second.calls.length]).toEqual([1, 2]);
  });

  it('waits on close of a registration for the call under way', async () => {
    await started();
    let release: () => void = () => undefined;
    const registration = informer.addEventHandler({ onAdd: () => new Promise<void>((resolve) => (release = resolve)) });
    source.add(pod({ name: 'a' }));
    source.add(pod({ name: 'b' }));
    let isClosed = false;
    const closing = registration.close().then(() => (isClosed = true));
    await settle();
    expect(isClosed).toBe(false);
    release();
    await closing;
  });

  it('ignores registrations of other informers', async () => {
    await started();
    const handler = recorder();
    informer.addEventHandler(handler);
    const stranger = new SharedInformer<TestPod>(source, { clock });
    informer.removeEventHandler(stranger.addEventHandler({}));
    source.add(pod({ name: 'a' }));
    expect(handler.calls).toHaveLength(1);
  });

  it('takes one handler twice as two registrations', async () => {
    await started();
    const handler = recorder();
    const first = informer.addEventHandler(handler);
    informer.addEventHandler(handler);
    source.add(pod({ name: 'a' }));
    await first.close();
    source.add(pod({ name: 'b' }));
    expect(handler.calls).toEqual(['add a@11', 'add a@11', 'add b@12']);
  });

  it('filters on both sides of an update', async () => {
    await started();
    const handler = recorder();
    const isWeb = (object: Pod | DeletedFinalStateUnknown<TestPod>): boolean =>
      !isDeletedFinalStateUnknown<TestPod>(object) && object.metadata?.labels?.app === 'web';
    informer.addEventHandler(filteringHandler(isWeb, handler));
    const web = { labels: { app: 'web' } };
    source.add(pod({ name: 'a' }));
    source.modify(pod({ name: 'a', ...web }));
    source.modify(pod({ name: 'a', ...web }));
    source.modify(pod({ name: 'a' }));
    source.modify(pod({ name: 'a', ...web }));
    source.delete({ name: 'a' });
    expect(handler.calls).toEqual(['add a@12', 'update a@12 a@13', 'delete a@13', 'add a@15', 'delete a@16']);
  });
});

describe('SharedInformer: resyncs', () => {
  it('resyncs each handler at its own pace and leaves the others alone', async () => {
    source.add(pod({ name: 'a' }));
    create({ resyncMs: 2000 });
    const times: Record<string, number[]> = { two: [], three: [], never: [] };
    const note = (name: string): ResourceEventHandler<TestPod> => ({
      onUpdate: () => void times[name]?.push(clock.monotonicNow()),
    });
    informer.addEventHandler(note('two'));
    informer.addEventHandler(note('three'), { resyncMs: 3000 });
    informer.addEventHandler(note('never'), { resyncMs: 0 });
    informer.start();
    await clock.advance(8000);
    expect(times).toEqual({ two: [2000, 4000, 6000, 8000], three: [4000, 8000], never: [] });
  });

  it('looks as often as the fastest handler that was there before the start', async () => {
    source.add(pod({ name: 'a' }));
    create({ resyncMs: 43_200_000 });
    const times: number[] = [];
    informer.addEventHandler({});
    informer.addEventHandler({ onUpdate: () => void times.push(clock.monotonicNow()) }, { resyncMs: 5000 });
    informer.start();
    await clock.advance(10_000);
    expect(times).toEqual([5000, 10_000]);
  });

  it('does not speed up for a handler that comes after the start, nor resync where it was told not to', async () => {
    source.add(pod({ name: 'a' }));
    await started({ resyncMs: 10_000 });
    const times: number[] = [];
    informer.addEventHandler({ onUpdate: () => void times.push(clock.monotonicNow()) }, { resyncMs: 1000 });
    await clock.advance(20_000);
    expect(times).toEqual([10_000, 20_000]);
    await informer.close();

    await started();
    informer.addEventHandler({ onUpdate: () => void times.push(-1) }, { resyncMs: 1000 });
    await clock.advance(20_000);
    expect(times).toHaveLength(2);
  });

  it('hides a relist in which nothing changed from handlers that are not due', async () => {
    source.add(pod({ name: 'a' }));
    create({ resyncMs: 60_000 });
    const handler = recorder();
    informer.addEventHandler(handler, { resyncMs: 0 });
    informer.start();
    await clock.advance(60_000); // the first evaluation
    source.resetWatches(internalError('x'));
    await clock.advance(1000);
    expect(source.requests).toHaveLength(2);
    expect(handler.calls).toEqual(['add a@11 initial']);
  });
});

describe('SharedInformer: life', () => {
  it('knows whether it is started and stopped, starts once and ends once', async () => {
    create();
    expect([informer.isStarted, informer.isStopped]).toEqual([false, false]);
    informer.start();
    informer.start();
    expect([informer.isStarted, informer.isStopped]).toEqual([true, false]);
    expect(source.asked('watch')).toHaveLength(1);
    await informer.close();
    await informer.close();
    expect([informer.isStarted, informer.isStopped]).toEqual([true, true]);
    expect(() => informer.start()).toThrow('cannot be started again');
    expect(() => informer.addEventHandler({})).toThrow(
      'was not added to shared informer because it has stopped already',
    );
    expect(() => informer.addIndexers({})).toThrow('indexer was not added because it has stopped already');
  });

  it('tells nobody anything after close', async () => {
    await started();
    const handler = recorder();
    const registration = informer.addEventHandler(handler);
    await informer.close();
    source.add(pod({ name: 'a' }));
    informer.removeEventHandler(registration);
    expect(handler.calls).toEqual([]);
  });

  it('can be closed by a handler', async () => {
    await started();
    const handler = recorder();
    informer.addEventHandler({ onAdd: () => void informer.close() });
    informer.addEventHandler(handler);
    source.add(pod({ name: 'a' }));
    source.add(pod({ name: 'b' }));
    await settle();
    expect(informer.isStopped).toBe(true);
    expect(names()).toBe('a');
  });

  it('adds indexers before and after the start', async () => {
    source.add(pod({ name: 'a' }, { spec: { nodeName: 'n1' } }));
    await started({ indexers: { node: (object) => [object.spec?.nodeName] } });
    informer.addIndexers({ first: (object) => [object.metadata?.name?.[0]] });
    expect(informer.indexer.indexKeys('node', 'n1')).toEqual(['default/a']);
    expect(informer.indexer.indexKeys('first', 'a')).toEqual(['default/a']);
    expect(informer.indexer.indexKeys('namespace', 'default')).toEqual(['default/a']);
    expect(() => informer.addIndexers({ node: () => [] })).toThrow('indexer conflict: {node}');
  });

  it('refuses an unknown kind of FIFO', () => {
    create();
    expect(() => create({ fifo: 'lifo' as never })).toThrow(
      new TypeError("fifo must be 'delta' or 'inOrder', got lifo"),
    );
  });
});

describe('SharedInformer: shared objects never change (I6)', () => {
  it('freezes what it caches, so that a change fails where it happens', async () => {
    const own = (object: Pod): Pod => structuredClone(object) as Pod;
    await started({ mutationDetection: 'freeze', transform: own });
    informer.addEventHandler({
      onAdd: (object) => {
        (object as TestPod).metadata = {};
      },
    });
    source.add(pod({ name: 'a' }));
    expect(errors.map(String)).toEqual([expect.stringContaining('TypeError: Cannot assign to read only property')]);
  });

  it('finds a change by comparing, within a second', async () => {
    const own = (object: Pod): Pod => structuredClone(object) as Pod;
    await started({ mutationDetection: 'compare', transform: own });
    source.add(pod({ name: 'a' }));
    await clock.advance(1000);
    expect(errors).toEqual([]);
    (informer.lister.namespace('default').get('a') as TestPod).spec = { nodeName: 'hacked' };
    await clock.advance(1000);
    expect(errors.map(String)).toEqual(['Error: cache pods modified: Pod default/a changed at .spec.containers']);
    await clock.advance(1000);
    expect(errors).toHaveLength(1);
  });
});

describe('waitForCacheSync', () => {
  it('is false when the signal aborts first, and true for what has synced even then', async () => {
    await started();
    const abort = new AbortController();
    const stranger = new SharedInformer<TestPod>(source, { clock });
    const waiting = waitForCacheSync([informer, stranger], { signal: abort.signal });
    abort.abort();
    expect(await waiting).toBe(false);
    expect(await waitForCacheSync([stranger], { signal: abort.signal })).toBe(false);
    expect(await waitForCacheSync([informer], { signal: abort.signal })).toBe(true);
    expect(await waitForCacheSync([])).toBe(true);
  });
});
