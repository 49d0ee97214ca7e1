// The promises of the Cacher as a whole: invariants, readiness, and which calls reach the storage below.
import { isExpired, isTooManyRequests, type LogFields, retryAfterSeconds, silentLogger } from '@kapstan/api';
import { settle, type TestPod, VirtualClock } from '@kapstan/api/testing';
import {
  identityTransformer,
  isStorageError,
  MemoryEngine,
  ObjectStore,
  type Storage,
  StorageError,
  type Transformer,
} from '@kapstan/storage';
import { keyOf, podAttributes, podOf, podStoreOptions, predicate, StorageBench } from '@kapstan/storage/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import { Cacher, type CacherOptions } from './cacher.ts';

const root = '/registry/pods';

let clock: VirtualClock;
let engine: MemoryEngine;
let store: ObjectStore<TestPod>;
let cacher: Cacher<TestPod>;

function openCacher(options: Partial<CacherOptions<TestPod>> = {}): Cacher<TestPod> {
  return new Cacher<TestPod>({
    storage: store,
    resourcePrefix: '/pods',
    getAttributes: podAttributes,
    indexedFields: ['spec.nodeName'],
    freeze: true,
    clock,
    random: () => 0,
    ...options,
  });
}

const bench = new StorageBench(async () => {
  clock = new VirtualClock();
  engine = new MemoryEngine({ clock });
  store = new ObjectStore(podStoreOptions(engine));
  cacher = openCacher();
  return {
    storage: cacher,
    engine,
    clock,
    isCached: true,
    dispose: async () => {
      await cacher.close();
      await store.close();
      await engine.close();
    },
  };
});

const started = async (): Promise<void> => {
  cacher.start();
  cacher.start();
  await cacher.waitUntilReady();
};

async function until(isMet: () => boolean): Promise<void> {
  for (let turn = 0; turn < 10_000 && !isMet(); turn++) await settle();
  expect(isMet()).toBe(true);
}

describe('a Cacher that is not ready', () => {
  it('answers 429 with the reason to lists and watches, and leaves gets and cheap pages to the storage', async () => {
    await store.create(keyOf('a'), podOf('a'));
    engine.beforeOperation = (operation) => {
      if (operation === 'range') throw new StorageError({ code: 'Unreachable', message: 'no leader' });
    };
    cacher.start();
    await until(() => cacher.inspect().lastError !== undefined);
    engine.beforeOperation = () => undefined;
    const refused: unknown = await bench.list().catch((error: unknown) => error);
    expect(isTooManyRequests(refused)).toBe(true);
    expect((refused as Error).message).toMatch(/^storage is \(re\)initializing: .*no leader/);
    expect(retryAfterSeconds(refused)).toBe(1);
    expect(() => bench.watch()).toThrow(/^storage is \(re\)initializing/);
    expect((await cacher.get(keyOf('a'), { resourceVersion: '0' }))?.object.metadata?.name).toBe('a');
    expect(await bench.names({ limit: 1 })).toEqual(['a']);
    await expect(bench.list({ limit: 1, labels: 'a=b' })).rejects.toSatisfy(isTooManyRequests);
    await expect(bench.list({ limit: 1, fields: 'spec.nodeName=n1' })).rejects.toSatisfy(isTooManyRequests);
    expect(isStorageError(cacher.readiness(), 'NotReady')).toBe(true);
    await clock.advance(1_000);
    await cacher.waitUntilReady();
    expect(cacher.readiness()).toBeUndefined();
    expect(await bench.names({ resourceVersion: '0' })).toEqual(['a']);
  });

  it('begins with the largest allowed history when more was requested, and warns', async () => {
    const warnings: unknown[] = [];
    const logger = {
      ...silentLogger,
      warn: (message: string, fields?: LogFields) => warnings.push({ message, ...fields }),
    };
    const capacities = [102_400, 102_401].map((initialHistory) => {
      const { capacity } = openCacher({ initialHistory, logger }).inspect().history;
      return capacity;
    });
    expect(capacities).toEqual([102_400, 102_400]);
    const message = 'the watch cache has room for fewer events than requested';
    expect(warnings).toEqual([{ message, prefix: '/registry/pods/', asked: 102_401, capacity: 102_400 }]);
    expect(openCacher({ initialHistory: 102_401, historyWindowMs: 150_000, logger }).inspect().history.capacity).toBe(
      102_401,
    );
    expect(warnings).toHaveLength(1);
  });

  it('refuses a storage whose keys are not its own', () => {
    const refused = 'the cacher has keys below /registry/nodes/, but its storage has keys below /registry/pods/';
    expect(() => openCacher({ resourcePrefix: '/nodes' })).toThrow(new TypeError(refused));
  });

  it('refuses a history window below 75 s', () => {
    expect(() => openCacher({ historyWindowMs: 74_000 })).toThrow(
      'config.EventsHistoryWindow (74s) must not be below 1m15s',
    );
  });
});

describe('a Cacher whose storage fails', () => {
  beforeEach(started);

  it('I3: resumes its watch from the last revision when the storage cannot be reached, and its watchers miss nothing', async () => {
    const watch = bench.watch({ resourceVersion: String(await bench.caughtUp()) });
    await bench.create('a');
    await watch.received(1);
    engine.breakWatches(new StorageError({ code: 'Unreachable' }));
    await store.create(keyOf('b'), podOf('b'));
    await store.delete(keyOf('a'));
    await clock.advance(1_000);
    expect(await watch.received(3)).toHaveLength(3);
    expect(watch.changes.map((change) => change.split('@')[0])).toEqual(['ADDED a', 'ADDED b', 'DELETED a']);
    expect(cacher.inspect().counters).toMatchObject({ initializations: 1, ended: { relist: 0, overrun: 0 } });
  });

  it('lists anew and ends all watches silently when its revision is compacted', async () => {
    await bench.create('a');
    const watch = bench.watch();
    await watch.received(1);
    engine.breakWatches(new StorageError({ code: 'Compacted', revision: 100 }));
    expect(await watch.ended()).toBeUndefined();
    expect(() => bench.watch()).toThrow('storage is (re)initializing');
    await clock.advance(200);
    await cacher.waitUntilReady();
    expect(cacher.inspect().counters).toMatchObject({ initializations: 2, ended: { relist: 1, overrun: 0 } });
    const again = bench.watch();
    expect(await again.received(1)).toHaveLength(1);
  });

  it('says 410 to a watch from before its last list', async () => {
    const { revision } = await bench.create('a');
    const later = await bench.create('b');
    await bench.caughtUp();
    engine.breakWatches(new StorageError({ code: 'Compacted', revision: 1 }));
    await clock.advance(200);
    await cacher.waitUntilReady();
    const error = await bench.watch({ resourceVersion: String(revision) }).ended();
    expect(isExpired(error)).toBe(true);
    expect(error?.message).toBe(`too old resource version: ${revision} (${later.revision})`);
  });

  it('ends a watch that began to wait before a new list, instead of leaving a gap in it', async () => {
    await bench.create('a');
    await bench.caughtUp();
    const future = Number(await cacher.currentResourceVersion()) + 1;
    const watch = bench.watch({ sendInitialEvents: true, resourceVersion: String(future) });
    engine.breakWatches(new StorageError({ code: 'Compacted', revision: 1 }));
    await store.create(keyOf('b'), podOf('b'));
    await clock.advance(200);
    await cacher.waitUntilReady();
    expect([await watch.ended(), watch.events]).toEqual([undefined, []]);
  });

  it('ends all watches when what cannot be read is deleted by force, and lists anew without it', async () => {
    const options = podStoreOptions(engine);
    const { transformer = identityTransformer } = options;
    let isLost = false;
    const losing: Transformer = {
      fromStorage: (bytes, key) => {
        if (isLost && key === keyOf('a')) throw new TypeError('its key is lost');
        return transformer.fromStorage(bytes, key);
      },
      toStorage: (bytes, key) => transformer.toStorage(bytes, key),
    };
    const other = openCacher({ storage: new ObjectStore({ ...options, transformer: losing }) });
    other.start();
    await other.waitUntilReady();
    await bench.createAll('a', 'b');
    await bench.caughtUp();
    const ends: (Error | undefined)[] = [];
    const events: string[] = [];
    const everything = { recursive: true, predicate: predicate() };
    const from = String(await other.currentResourceVersion());
    other.watch(
      root,
      { ...everything, resourceVersion: from },
      {
        onEvent: ({ type }) => events.push(type),
        onEnd: (error) => ends.push(error),
      },
    );
    isLost = true;
    await other.deleteUnreadable(keyOf('a'));
    await until(() => ends.length === 1);
    expect([ends, events]).toEqual([[undefined], []]);
    expect((other.inspect().lastError as Error).message).toContain('saw a DELETED event, but object data is corrupt');
    await clock.advance(200);
    await other.waitUntilReady();
    const list = await other.getList(root, { ...everything, resourceVersion: '0' });
    expect(list.items.map(({ object }) => object.metadata?.name)).toEqual(['b']);
    await other.close();
  });

  it('asks the storage below when the cache lags behind a consistent read', async () => {
    await bench.create('a');
    await bench.caughtUp();
    engine.breakWatches(new StorageError({ code: 'Unreachable' }));
    // The storage stays unreachable for watches.
    const watch = engine.watch.bind(engine);
    engine.watch = (_range, options, sink) => {
      queueMicrotask(() => sink.onError(new StorageError({ code: 'Unreachable' })));
      return watch({ start: '', end: '' }, options, { ...sink, onError: () => undefined });
    };
    await store.create(keyOf('b'), podOf('b'));
    const [names] = await Promise.all([bench.names(), clock.advance(3_000)]);
    expect(names).toEqual(['a', 'b']);
    expect(await bench.names({ resourceVersion: '0' })).toEqual(['a']);
    expect(cacher.inspect().counters).toMatchObject({ consistentReads: 0, consistentReadFallbacks: 1 });
  });
});

describe('a Cacher', () => {
  beforeEach(started);

  it('reads nothing for the newest state while the storage knows at once that the cache has it', async () => {
    const known = new Map<string, number>();
    Object.assign(engine, { isNewest: (key: string, revision: number) => known.get(key) === revision });
    const plain = new ObjectStore<TestPod>({ ...podStoreOptions(engine), transformer: identityTransformer });
    const other = openCacher({ storage: plain });
    other.start();
    await other.waitUntilReady();
    const { revision } = await plain.create(keyOf('a'), podOf('a'));
    let reads = 0;
    engine.beforeOperation = (operation) => void (operation === 'get' && reads++);
    const revisionRead = async (): Promise<unknown> => [(await other.get(keyOf('a')))?.revision, reads];
    expect(await revisionRead()).toEqual([revision, 1]);
    known.set(keyOf('a'), revision);
    expect(await revisionRead()).toEqual([revision, 1]);
    expect((await other.get(keyOf('a'), { resourceVersion: String(revision) }))?.revision).toBe(revision);
    known.clear();
    expect(await revisionRead()).toEqual([revision, 2]);
    await other.close();
    await plain.close();
  });

  it('answers from memory what may be old, and asks the storage for the rest', async () => {
    await bench.createAll('a', 'b');
    const revision = await bench.caughtUp();
    const asked: string[] = [];
    engine.beforeOperation = (operation) => void asked.push(operation);
    const listen = async (call: () => Promise<unknown>): Promise<string[]> => {
      asked.length = 0;
      await call();
      return [...asked];
    };
    expect(await listen(() => cacher.get(keyOf('a'), { resourceVersion: '0' }))).toEqual([]);
    expect(await listen(() => cacher.get(keyOf('a'), { resourceVersion: String(revision) }))).toEqual([]);
    expect(await listen(() => cacher.get(keyOf('a')))).toEqual(['get']);
    expect(await listen(() => bench.list())).toEqual([]);
    expect(await listen(() => bench.list({ limit: 1 }))).toEqual([]);
    expect(await listen(() => bench.list({ resourceVersion: '0' }))).toEqual([]);
    expect(await listen(() => bench.list({ resourceVersion: String(revision), limit: 1 }))).toEqual([]);
    expect(
      await listen(() => bench.list({ resourceVersion: String(revision), limit: 1, recursive: false }, keyOf('a'))),
    ).toEqual(['get']);
    expect(await listen(() => bench.watch({ resourceVersion: '0' }).received(2))).toEqual([]);
    expect(await listen(() => cacher.stats())).toEqual([]);
  });

  it('gives updates and deletes its own state as a hint: no read when it is fresh', async () => {
    const stale = await bench.create('a');
    await bench.update('a', { node: 'n1' });
    await bench.caughtUp();
    const asked: string[] = [];
    engine.beforeOperation = (operation) => void asked.push(operation);
    await cacher.guaranteedUpdate(keyOf('a'), () => ({ object: podOf('a', { node: 'n2' }) }), {
      cachedExisting: stale,
    });
    expect(asked).toEqual(['commit']);
    await bench.caughtUp();
    asked.length = 0;
    await cacher.delete(keyOf('a'), { cachedExisting: stale });
    expect(asked).toEqual(['commit']);
  });

  it('I2: holds a revision before any watcher hears of it', async () => {
    const heard: { readonly revision: number; readonly held: number; readonly objects: number }[] = [];
    const watch = cacher.watch(
      root,
      { resourceVersion: String(await bench.caughtUp()), recursive: true, predicate: predicate() },
      {
        onEvent: (event) => {
          const { revision: held, objects } = cacher.inspect();
          heard.push({ revision: event.type === 'BOOKMARK' ? event.revision : event.stored.revision, held, objects });
        },
        onEnd: () => undefined,
      },
    );
    await bench.create('a');
    await until(() => heard.length === 1);
    await bench.create('b');
    await until(() => heard.length === 2);
    await bench.remove('a');
    await until(() => heard.length === 3);
    watch.close();
    expect(heard.map(({ objects }) => objects)).toEqual([1, 2, 1]);
    expect(heard.every(({ revision, held }) => held >= revision)).toBe(true);
  });

  it('returns the very objects that it holds, with their bytes', async () => {
    await bench.create('a');
    await bench.caughtUp();
    const [one] = (await bench.list()).items;
    const [other] = (await bench.list({ resourceVersion: '0' })).items;
    expect(one).toBe(other);
    expect(one).toBe(await cacher.get(keyOf('a'), { resourceVersion: '0' }));
    expect(Object.isFrozen(one?.object.spec)).toBe(true);
  });

  it('returns them for the newest state too, when the storage has the same revision', async () => {
    const plain = new ObjectStore<TestPod>({ ...podStoreOptions(engine), transformer: identityTransformer });
    const other = openCacher({ storage: plain });
    other.start();
    await other.waitUntilReady();
    await other.create(keyOf('a'), podOf('a'));
    const newest = await other.get(keyOf('a'), { resourceVersion: String(await other.currentResourceVersion()) });
    expect(newest).toBeDefined();
    expect(await other.get(keyOf('a'))).toBe(newest);
    await other.close();
    await plain.close();
  });

  it('filters long lists in slices, all at one revision', async () => {
    await Promise.all(
      Array.from({ length: 6_000 }, (_, i) => store.create(keyOf(`p${i}`), podOf(`p${i}`, { node: `n${i % 2}` }))),
    );
    await bench.caughtUp();
    const listing = bench.list({ labels: 'a!=b', resourceVersion: '0' });
    const removed = await bench.remove('p0');
    await bench.caughtUp();
    const list = await listing;
    expect(list.items).toHaveLength(6_000);
    expect(Number(list.resourceVersion)).toBeLessThan(removed.revision);
    expect(await bench.names({ fields: 'spec.nodeName=n1', resourceVersion: '0' })).toHaveLength(3_000);
  });

  it('counts objects and their stored bytes', async () => {
    await bench.createAll('a', 'b');
    const size = Buffer.byteLength(await bench.rawText('a')) - 'enc:1:'.length;
    expect(await cacher.stats()).toEqual({ objectCount: 2, averageObjectBytes: size });
    await bench.update('a', { labels: { long: 'x'.repeat(60) } });
    const grown = Buffer.byteLength(await bench.rawText('a')) - 'enc:1:'.length;
    const average = Math.floor((grown + size) / 2);
    expect([grown - size > 60, await cacher.stats()]).toEqual([true, { objectCount: 2, averageObjectBytes: average }]);
    const refused = cacher.delete(keyOf('a'), { preconditions: { uid: 'other' } });
    await expect(refused).rejects.toSatisfy((error) => isStorageError(error, 'InvalidObject'));
    expect(await cacher.stats()).toEqual({ objectCount: 2, averageObjectBytes: average });
    await bench.remove('a');
    await bench.remove('b');
    expect(await cacher.stats()).toEqual({ objectCount: 0, averageObjectBytes: 0 });
  });

  it('I1: sends bookmarks at the version of the storage once a minute, and before the deadline', async () => {
    const watch = bench.watch({ bookmarks: true, resourceVersion: String(await bench.caughtUp()) });
    const without = bench.watch({ resourceVersion: String(await bench.caughtUp()) });
    await settle();
    // A write of another resource advances the store; its progress report reaches the cache.
    const value = new Uint8Array(1);
    await engine.commit({ key: '/registry/secrets/x', expectedRevision: 0 as never, change: { type: 'put', value } });
    await clock.advance(61_000);
    expect(watch.bookmarks).toEqual([await engine.currentRevision()]);
    await clock.advance(60_000);
    expect(watch.bookmarks).toHaveLength(2);
    expect(without.events).toEqual([]);
    const told = bench.watch({ bookmarks: true, resourceVersion: '0', deadlineMs: clock.monotonicNow() + 10_000 });
    await settle();
    await clock.advance(10_000);
    expect(told.bookmarks).toEqual([]);
    const informed = bench.watch({ bookmarks: true, resourceVersion: '0', deadlineMs: clock.monotonicNow() + 10_000 });
    await settle();
    await bench.create('a');
    await informed.received(1);
    await clock.advance(10_000);
    expect(informed.bookmarks).toEqual([await engine.currentRevision()]);
  });

  it('gives the whole rest to a continue token with version "0", whatever the limit', async () => {
    await bench.createAll('a', 'b', 'c', 'd');
    await bench.caughtUp();
    const first = await bench.list({ limit: 1 });
    const rest = await bench.list({ limit: 1, continue: first.continue, resourceVersion: '0' });
    expect([rest.items.map(({ object }) => object.metadata?.name), rest.continue]).toEqual([['b', 'c', 'd'], '']);
    expect((await bench.list({ limit: 1, continue: first.continue })).items).toHaveLength(1);
  });

  it('answers 410 to a watch from before a revision that it has forgotten; running watches go on', async () => {
    const start = String(await bench.caughtUp());
    const running = bench.watch({ resourceVersion: start });
    await bench.create('a');
    await running.received(1);
    const revision = await engine.currentRevision();
    cacher.forgetBefore(revision);
    const late = bench.watch({ resourceVersion: start });
    expect(isExpired(await late.ended())).toBe(true);
    const present = bench.watch({ resourceVersion: String(revision) });
    await bench.create('b');
    await Promise.all([running.received(2), present.received(1)]);
  });

  it('keeps its watch open through an hour of silence, without a new list', async () => {
    const watch = bench.watch({ resourceVersion: String(await bench.caughtUp()) });
    await settle();
    await clock.advance(3_600_000);
    await bench.create('a');
    await watch.received(1);
    expect(cacher.inspect().counters).toMatchObject({ initializations: 1, ended: { relist: 0, overrun: 0 } });
  });

  it('is ended in peace by close, which fails all who wait and leaves nothing (I9)', async () => {
    await bench.create('a');
    const watch = bench.watch();
    await watch.received(1);
    const future = String(Number(await cacher.currentResourceVersion()) + 5);
    const waiting = cacher.get(keyOf('a'), { resourceVersion: future }).catch((error: unknown) => error);
    await settle();
    await cacher.close();
    await cacher.close();
    cacher.start();
    expect(await watch.ended()).toBeUndefined();
    expect(isStorageError(await waiting, 'Closed')).toBe(true);
    await expect(bench.list()).rejects.toThrow('apiserver cacher is stopped');
    await expect(cacher.get(keyOf('a'))).rejects.toThrow('apiserver cacher is stopped');
    expect(() => bench.watch()).toThrow('apiserver cacher is stopped');
    expect(cacher.inspect()).toMatchObject({ state: 'stopped', watchers: 0, waiting: 0, bookmarked: 0 });
    expect(clock.pendingTimers).toBe(0);
  });

  it('shows its state for people', async () => {
    await bench.create('a');
    await bench.caughtUp();
    const watch = bench.watch({ bookmarks: true });
    await watch.received(1);
    await bench.create('b');
    await watch.received(2);
    const revision = await engine.currentRevision();
    const { durations, ...rest } = cacher.inspect();
    expect(rest).toMatchObject({
      state: 'ready',
      revision,
      objects: 2,
      history: { size: 2, capacity: 100, oldestRevision: 2, newestRevision: 3 },
      pastStates: { oldest: 1, newest: 3 },
      watchers: 1,
      watchersByScope: [{ scope: '/registry/pods/', watchers: 1, catchingUp: 0, behind: 0 }],
      catchingUp: 0,
      backlog: 0,
      waiting: 0,
      bookmarked: 1,
      lastError: undefined,
      counters: {
        eventsReceived: 2,
        eventsDispatched: 2,
        initEvents: 1,
        initializations: 1,
        initializationErrors: 0,
        ended: { relist: 0, overrun: 0, failed: 0, refused: 0, stopped: 0 },
        lists: [{ index: '', lists: 1, fetched: 1, returned: 1 }],
        consistencyChecks: { success: 0, failure: 0, error: 0 },
        historyIncreases: 0,
        historyDecreases: 0,
      },
    });
    expect(Object.keys(durations)).toEqual(['readWait', 'initialization', 'dispatch']);
    const byNode = bench.watch({ fields: 'spec.nodeName=n1', resourceVersion: '0' }, `${root}/default`);
    expect(cacher.inspect().watchersByScope[1]).toEqual({
      scope: '/registry/pods/default/ spec.nodeName=n1',
      watchers: 1,
      catchingUp: 1,
      behind: 2,
    });
    byNode.close();
  });
});

describe('a Cacher over a storage without progress requests', () => {
  it('leaves consistent reads to the storage, and refuses streamed lists with bookmarks', async () => {
    const plain = new MemoryEngine({ clock, supportsProgressRequests: false });
    const below: Storage<TestPod> = new ObjectStore(podStoreOptions(plain));
    const other = openCacher({ storage: below });
    other.start();
    await other.waitUntilReady();
    await below.create(keyOf('a'), podOf('a'));
    const list = await other.getList(root, { predicate: predicate(), recursive: true });
    expect(list.items).toHaveLength(1);
    const ended = new Promise<Error | undefined>((resolve) => {
      const options = { predicate: predicate({ bookmarks: true }), recursive: true, sendInitialEvents: true };
      other.watch(root, options, { onEvent: () => undefined, onEnd: resolve });
    });
    expect((await ended)?.message).toContain('RequestWatchProgress');
    await other.close();
    await plain.close();
  });

  it('waits for a version without asking for progress, and hears of it by an event', async () => {
    const plain = new MemoryEngine({ clock, supportsProgressRequests: false });
    let questions = 0;
    plain.requestProgress = async () => {
      questions++;
    };
    const below: Storage<TestPod> = new ObjectStore(podStoreOptions(plain));
    const other = openCacher({ storage: below });
    other.start();
    await other.waitUntilReady();
    const next = Number(await plain.currentRevision()) + 1;
    const waiting = other.get(keyOf('a'), { resourceVersion: String(next) });
    await clock.advance(1_000);
    await below.create(keyOf('a'), podOf('a'));
    expect((await waiting)?.revision).toBe(next);
    expect(questions).toBe(0);
    const exact = { resourceVersion: String(next), resourceVersionMatch: 'Exact' as const };
    expect((await other.getList(root, { ...exact, predicate: predicate(), recursive: true })).items).toHaveLength(1);
    await other.close();
    await plain.close();
  });
});
