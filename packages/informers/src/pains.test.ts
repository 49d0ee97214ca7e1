// One test for each problem that users of Node informers report, as listed in docs/parity/pains.md. Those that need a network are
// in test/reliability.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { ListerWatcher } from '@kapstan/api';
import { expired, notFound, tooLargeResourceVersion } from '@kapstan/api/errors';
import { FakeListerWatcher, pod, settle, type TestPod, testPods, VirtualClock } from '@kapstan/api/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { InformerEvent } from './handlers/object-change.ts';
import { SharedInformer } from './shared-informer.ts';
import { SharedInformerFactory } from './shared-informer-factory.ts';
import type { SharedInformerOptions } from './shared-informer-options.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** Returns the memory in use without garbage, in MiB. */
function heldMebibytes(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed / 1_048_576;
}

const refused = Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:1'), { code: 'ECONNREFUSED' });

let clock: VirtualClock;
let source: FakeListerWatcher<TestPod>;
let informer: SharedInformer<TestPod>;
beforeEach(() => {
  clock = new VirtualClock();
  source = new FakeListerWatcher<TestPod>({ startVersion: 10 });
});
afterEach(() => informer.close());

const open = (options: SharedInformerOptions<TestPod> = {}, from: ListerWatcher<TestPod> = source): void => {
  const quiet = { onWatchError: () => undefined };
  informer = new SharedInformer(from, { clock, random: () => 0, resource: testPods, ...quiet, ...options });
};
const start = async (options: SharedInformerOptions<TestPod> = {}): Promise<void> => {
  open(options);
  informer.start();
  await settle();
};
const text = (event: InformerEvent<TestPod>): string =>
  event.type === 'synced' ? 'synced' : `${event.type} ${event.key}`;
const phased = (phase: string): TestPod => pod({ name: 'a' }, { status: { phase } });

describe('what hurts in Node informers: handlers and readers:', () => {
  it('a handler that throws or rejects ends the process, or the informer', async () => {
    const failures: unknown[] = [];
    open({ onHandlerError: (error) => failures.push((error as Error).message) });
    informer.addEventHandler({
      onAdd: () => {
        throw new Error('thrown');
      },
      onUpdate: () => Promise.reject(new Error('rejected')),
    });
    const told: string[] = [];
    informer.addEventHandler({ onAdd: () => void told.push('add'), onUpdate: () => void told.push('update') });
    informer.start();
    await settle();
    source.add(phased('one'));
    source.modify(phased('two'));
    source.modify(phased('three'));
    // An unhandled rejection would fail the run here.
    await settle();
    expect(told).toEqual(['add', 'update', 'update']);
    expect(failures).toEqual(['thrown', 'rejected', 'rejected']);
    expect(informer.status.phase).toBe('live');
  });

  it('events of one object are handled out of order, or after its deletion', async () => {
    const handled: string[] = [];
    const ends: (() => void)[] = [];
    const slow = (what: string) => async (): Promise<void> => {
      handled.push(`${what} begins`);
      await new Promise<void>((resolve) => ends.push(resolve));
      handled.push(`${what} ends`);
    };
    open();
    informer.addEventHandler({ onAdd: slow('add'), onUpdate: slow('update'), onDelete: slow('delete') });
    informer.start();
    await settle();
    source.add(phased('one'));
    source.modify(phased('two'));
    await settle();
    // The first call still runs when the object changes and is deleted.
    source.delete({ name: 'a' });
    while (ends.length > 0) {
      ends.shift()?.();
      await settle();
    }
    expect(handled).toEqual(['add begins', 'add ends', 'delete begins', 'delete ends']);
    expect(informer.lister.list()).toEqual([]);
  });

  it('a handler that was removed still hears of what waited for it', async () => {
    const told: string[] = [];
    let end: () => void = () => undefined;
    await start();
    const registration = informer.addEventHandler({
      onAdd: ({ metadata }) => {
        told.push(metadata?.name ?? '');
        return new Promise<void>((resolve) => (end = resolve));
      },
    });
    for (const name of ['a', 'b', 'c']) source.add(pod({ name }));
    const closed = registration.close();
    end();
    await closed;
    await settle();
    expect(told).toEqual(['a']);
  });

  it('nobody can tell when the cache is filled', async () => {
    for (const name of ['a', 'b']) source.add(pod({ name }));
    open();
    const seen: string[] = [];
    const early = informer.events$.subscribe((event) => seen.push(text(event)));
    expect([informer.hasSynced, seen]).toEqual([false, []]);
    informer.start();
    expect(await informer.whenSynced()).toBe(true);
    source.add(pod({ name: 'c' }));
    const late: string[] = [];
    const second = informer.events$.subscribe((event) => late.push(text(event)));
    source.delete({ name: 'a' });
    expect(seen).toEqual(['added default/a', 'added default/b', 'synced', 'added default/c', 'deleted default/a']);
    expect(late).toEqual(['added default/a', 'added default/b', 'added default/c', 'synced', 'deleted default/a']);
    early.unsubscribe();
    second.unsubscribe();
  });

  it('the cache has synced, and nobody knows whether a handler has seen it all', async () => {
    for (const name of ['a', 'b']) source.add(pod({ name }));
    open();
    const ends: (() => void)[] = [];
    const slow = informer.addEventHandler({ onAdd: () => new Promise<void>((resolve) => ends.push(resolve)) });
    const quick = informer.addEventHandler({ onAdd: () => undefined });
    informer.start();
    await settle();
    expect([informer.hasSynced, quick.hasSynced, slow.hasSynced]).toEqual([true, true, false]);
    ends[0]?.();
    await settle();
    expect([ends.length, slow.hasSynced]).toEqual([2, false]);
    ends[1]?.();
    expect(await slow.whenSynced()).toBe(true);
  });

  it('a reader that stands still makes the memory grow with each event', async () => {
    const objects = 50;
    for (let at = 0; at < objects; at++) source.add(pod({ name: `${at}` }));
    await start();
    const stalled = informer.addEventHandler({ onUpdate: () => new Promise<void>(() => undefined) });
    const loop = informer.watchEvents()[Symbol.asyncIterator]();
    await loop.next();
    const churn = (rounds: number): void => {
      for (let round = 0; round < rounds; round++) {
        for (let at = 0; at < objects; at++)
          source.modify(pod({ name: `${at}` }, { status: { phase: `${round}`.repeat(100) } }));
        source.expire();
      }
    };
    churn(20);
    const before = heldMebibytes();
    churn(400);
    // 20,000 events of 1 KB for each of two readers.
    expect(heldMebibytes() - before).toBeLessThan(5);
    expect(stalled.backlog).toBeLessThanOrEqual(objects);
    void stalled.close();
    let events = 0;
    for (let event = await loop.next(); text(event.value as InformerEvent<TestPod>) !== 'synced'; events++)
      event = await loop.next();
    expect(events).toBeLessThanOrEqual(objects);
    await loop.return?.();
    informer = new SharedInformer(source, { clock });
  });
});

describe('what hurts in Node informers: the source:', () => {
  it('a stop in the pause after a failure opens another watch afterwards', async () => {
    await start();
    source.resetWatches(refused);
    for (let times = 0; times < 3; times++) source.failNext('watch', refused);
    await clock.advance(1000);
    expect(informer.status.phase).toBe('retrying');
    const asked = source.requests.length;
    await informer.close();
    expect(clock.pendingTimers).toBe(0);
    await clock.advance(3_600_000);
    expect([source.requests.length, source.openWatches, clock.pendingTimers]).toEqual([asked, 0, 0]);
  });

  it('"Too large resource version" is answered for ever, until somebody restarts the pod', async () => {
    source.add(pod({ name: 'a' }));
    // The cache of another server, which lags: only a request for the newest version is answered.
    let isBehind = false;
    const behind: ListerWatcher<TestPod> = {
      watch: (options) => source.watch(options),
      list: (options) => {
        if (isBehind && Number(options.resourceVersion) > 3)
          source.failNext('list', tooLargeResourceVersion(options.resourceVersion ?? '', 3, 1));
        return source.list(options);
      },
    };
    open({ useWatchList: false }, behind);
    informer.start();
    await settle();
    isBehind = true;
    for (const name of ['b', 'c', 'd']) {
      source.add(pod({ name }));
      const asked = source.asked('list').length;
      source.resetWatches(expired('too old resource version'));
      await clock.advance(60_000);
      expect(informer.status.phase).toBe('live');
      const versions = source.asked('list').map(({ resourceVersion = '' }) => resourceVersion);
      expect(versions.slice(asked)).toEqual([source.resourceVersion, '']);
    }
    expect(informer.indexer.size).toBe(4);
  });

  it('another server, whose cache is behind, takes the informer back in time', async () => {
    source.add(phased('0'));
    const old = await source.list({});
    const behind: ListerWatcher<TestPod> = {
      watch: (options) => source.watch(options),
      list: (options) => (options.resourceVersion === '0' && isBehind ? Promise.resolve(old) : source.list(options)),
    };
    let isBehind = false;
    open({ useWatchList: false }, behind);
    const told: string[] = [];
    informer.addEventHandler({ onUpdate: (_old, { status }) => void told.push(status?.phase ?? '') });
    informer.start();
    await settle();
    isBehind = true;
    for (const phase of ['1', '2', '3']) {
      source.modify(phased(phase));
      source.resetWatches(expired('too old resource version'));
      await clock.advance(60_000);
      expect([informer.status.phase, informer.lastSyncResourceVersion]).toEqual(['live', source.resourceVersion]);
    }
    // The same state may be delivered once more, an older one never.
    expect(told).toEqual([...told].sort());
    expect(told.at(-1)).toBe('3');
  });

  it('a kind that is gone fills the log and is asked for without a pause', async () => {
    const gone: ListerWatcher<TestPod> = {
      list: (options) => {
        source.failNext('list', notFound({ group: '', resource: 'pods' }, ''));
        return source.list(options);
      },
      watch: (options) => {
        source.failNext('watch', notFound({ group: '', resource: 'pods' }, ''));
        return source.watch(options);
      },
    };
    const warnings: string[] = [];
    const warn = (message: string): void => void warnings.push(message);
    const logger = { debug: warn, info: warn, warn, error: warn };
    informer = new SharedInformer(gone, { clock, random: () => 0, resource: testPods, logger });
    informer.start();
    await clock.advance(3_600_000);
    expect(informer.status).toMatchObject({ phase: 'failed', error: { code: 404 } });
    expect(warnings).toHaveLength(1);
    // Each try is a stream and a list. There are eight in two minutes, because pauses grow from 0.8 to 30 s and then start again.
    expect(source.requests.length).toBeLessThanOrEqual(2 * 8 * 30);
  });

  it('an informer that nobody needs any more cannot be removed', async () => {
    await using factory = new SharedInformerFactory({ listerWatcher: () => source as never }, { clock });
    for (let round = 1; round <= 100; round++) {
      const handle = factory.acquire(testPods);
      const each = handle.informer;
      const registration = each.addEventHandler({});
      factory.start();
      await each.whenSynced();
      expect([each.consumers, source.openWatches]).toEqual([1, 1]);
      await registration.close();
      expect(each.consumers).toBe(0);
      await handle.close();
      expect([source.openWatches, clock.pendingTimers, source.asked('watch').length]).toEqual([0, 0, round]);
    }
    open();
  });

  it('the namespaces that are looked at are fixed at the start', async () => {
    const factories = new Map<string, SharedInformerFactory>();
    const scopes: (string | undefined)[] = [];
    const client = {
      listerWatcher: (_token: unknown, scope?: { readonly namespace?: string }) => {
        scopes.push(scope?.namespace);
        return source as never;
      },
    };
    for (let round = 0; round < 100; round++) {
      for (const namespace of ['a', 'b', 'c']) {
        const present = factories.get(namespace);
        if (present === undefined) {
          const factory = new SharedInformerFactory(client, { clock, namespace });
          factories.set(namespace, factory);
          factory.informer(testPods);
          factory.start();
          await factory.waitForCacheSync();
        } else if (namespace !== 'a') {
          factories.delete(namespace);
          await present.close();
        }
      }
      const open = round % 2 === 0 ? 3 : 1;
      expect([source.openWatches, clock.pendingTimers]).toEqual([open, open]);
    }
    expect(scopes.filter((namespace) => namespace === 'a')).toHaveLength(1);
    await factories.get('a')?.close();
    open();
  });

  it('caches, indexes and predicates grow with every object that ever was', async () => {
    await start({ indexers: { phase: ({ status }) => [status?.phase] }, transform: (object) => object as TestPod });
    const phases = new Set<string>();
    informer.addEventHandler({ onDelete: () => void phases.add('deleted') });
    const churn = (from: number, to: number): void => {
      for (let at = from; at < to; at++) {
        source.add(pod({ name: `${at}` }, { status: { phase: `phase ${at}`.repeat(20) } }));
        source.delete({ name: `${at}` });
        if (at % 100 === 0) source.expire();
      }
    };
    churn(0, 2000);
    const before = heldMebibytes();
    churn(2000, 20_000);
    expect(heldMebibytes() - before).toBeLessThan(3);
    expect([informer.indexer.size, informer.indexer.indexValues('phase'), [...phases]]).toEqual([0, [], ['deleted']]);
  });
});
