import { type DeepReadonly, objectKey, silentLogger } from '@kapstan/api';
import { FakeListerWatcher, pod, settle, type TestPod, VirtualClock } from '@kapstan/api/testing';
import { lastValueFrom, map, Subject, take, toArray } from 'rxjs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { isDeletedFinalStateUnknown } from './fifo/deleted-final-state-unknown.ts';
import { conflateByKey } from './handlers/conflate-by-key.ts';
import { ConflatingQueue } from './handlers/conflating-queue.ts';
import type { InformerEvent, ObjectChange } from './handlers/object-change.ts';
import { SharedInformer } from './shared-informer.ts';

type Pod = DeepReadonly<TestPod>;
let clock: VirtualClock;
let source: FakeListerWatcher<TestPod>;
let informer: SharedInformer<TestPod>;

const text = (event: InformerEvent<TestPod>): string => {
  if (event.type === 'synced') return 'synced';
  const name = event.key.replace('default/', '');
  return `${event.type} ${name}@${event.object?.metadata?.resourceVersion}${event.type === 'deleted' && event.isFinalStateUnknown ? '†' : ''}`;
};

beforeEach(() => {
  clock = new VirtualClock();
  source = new FakeListerWatcher<TestPod>();
  informer = new SharedInformer<TestPod>(source, { clock, random: () => 0, logger: silentLogger });
});
afterEach(() => informer.close());

describe('a transform that throws for one object', () => {
  it('fails a list as a whole, again and again, and costs one event of a watch', async () => {
    await informer.close();
    let isBroken = true;
    const watchErrors: unknown[] = [];
    const handlerErrors: unknown[] = [];
    informer = new SharedInformer<TestPod>(source, {
      clock,
      random: () => 0,
      logger: silentLogger,
      transform: (object) => {
        if (isBroken && object.metadata?.name === 'b') throw new Error('bad b');
        return object;
      },
      onWatchError: (error) => watchErrors.push((error as Error).message),
      onHandlerError: (error) => handlerErrors.push((error as Error).message),
    });
    for (const name of ['a', 'b', 'c']) source.add(pod({ name }));
    informer.start();
    await clock.advance(10_000);
    expect(new Set(watchErrors)).toEqual(
      new Set(['unable to sync list result: the transform of default/b failed: bad b']),
    );
    expect([watchErrors.length > 1, informer.hasSynced, handlerErrors]).toEqual([true, false, []]);
    isBroken = false;
    await clock.advance(60_000);
    expect([informer.hasSynced, informer.indexer.list().length]).toEqual([true, 3]);
    isBroken = true;
    source.modify(pod({ name: 'b' }));
    source.modify(pod({ name: 'c' }));
    expect(handlerErrors).toEqual(['the transform of default/b failed: bad b']);
    expect(informer.indexer.list().map(({ metadata }) => metadata?.resourceVersion)).toEqual(['1', '2', '5']);
  });

  it.each(['delta', 'inOrder'] as const)('does not keep what was deleted (%s)', async (fifo) => {
    await informer.close();
    let isBroken = false;
    const told: unknown[] = [];
    informer = new SharedInformer<TestPod>(source, {
      clock,
      fifo,
      transform: (object) => {
        if (isBroken) throw new Error('bad b');
        return object;
      },
      onHandlerError: (error) => told.push((error as Error).message),
    });
    for (const name of ['a', 'b']) source.add(pod({ name }));
    informer.start();
    await settle();
    informer.addEventHandler({
      onDelete: (object) => void told.push(isDeletedFinalStateUnknown<TestPod>(object) && object.object),
    });
    informer.events$.subscribe((event) => event.type === 'deleted' && told.push(text(event)));
    isBroken = true;
    const [, b] = informer.indexer.list();
    source.delete({ name: 'b' });
    expect(informer.indexer.listKeys()).toEqual(['default/a']);
    expect(told).toEqual([b, 'deleted b@2†', 'the transform of default/b failed: bad b']);
    expect(informer.indexer.resourceVersion).toBe('3');
  });
});

describe('events$', () => {
  it('gives an early subscriber the initial list, synced, then what happens, and completes on close', async () => {
    source.add(pod({ name: 'a' }));
    const all = lastValueFrom(informer.events$.pipe(map(text), toArray()));
    informer.start();
    await settle();
    source.modify(pod({ name: 'a' }));
    source.delete({ name: 'a' });
    await informer.close();
    expect(await all).toEqual(['added a@1', 'synced', 'updated a@2', 'deleted a@3']);
  });

  it('gives a late subscriber the present objects, then synced, then what happens', async () => {
    source.add(pod({ name: 'a' }));
    informer.start();
    await settle();
    source.add(pod({ name: 'b' }));
    const seen: string[] = [];
    informer.events$.subscribe((event) => seen.push(text(event)));
    source.delete({ name: 'a' });
    expect(seen).toEqual(['added a@1', 'added b@2', 'synced', 'deleted a@3']);
    expect(source.openWatches).toBe(1);
  });

  it('misses and doubles nothing for a subscriber that joins during a delivery', async () => {
    informer.start();
    await settle();
    const late: string[] = [];
    const subscription = informer.events$.subscribe((event) => {
      if (event.type !== 'added' || event.key !== 'default/a') return;
      source.add(pod({ name: 'b' }));
      informer.events$.subscribe((next) => late.push(text(next)));
    });
    source.add(pod({ name: 'a' }));
    subscription.unsubscribe();
    source.add(pod({ name: 'c' }));
    expect(late).toEqual(['added a@1', 'synced', 'added b@2', 'added c@3']);
  });

  it('leaves out resyncs, of which handlers are told', async () => {
    await informer.close();
    informer = new SharedInformer<TestPod>(source, { clock, random: () => 0, logger: silentLogger, resyncMs: 1000 });
    source.add(pod({ name: 'a' }));
    let resyncs = 0;
    informer.addEventHandler({ onUpdate: () => void resyncs++ });
    const seen: string[] = [];
    informer.events$.subscribe((event) => seen.push(text(event)));
    informer.start();
    await settle();
    await clock.advance(3000);
    await settle();
    expect([seen, resyncs]).toEqual([['added a@1', 'synced'], 3]);
  });

  it('never errors: a broken source is a value on status$', async () => {
    const seen: string[] = [];
    informer.events$.subscribe({ next: (event) => seen.push(text(event)), error: () => seen.push('error') });
    informer.start();
    source.add(pod({ name: 'a' }));
    source.resetWatches(new Error('broken'));
    source.delete({ name: 'a' });
    await clock.advance(800);
    expect(seen).toEqual(['synced', 'added a@1', 'deleted a@1†']);
    expect(informer.status.phase).toBe('live');
  });

  it('ends the replay when the subscriber has enough', async () => {
    for (const name of ['a', 'b', 'c']) source.add(pod({ name }));
    informer.start();
    await settle();
    const first = await lastValueFrom(informer.events$.pipe(take(2), map(text), toArray()));
    expect(first).toEqual(['added a@1', 'added b@2']);
  });

  it('completes at once on a closed informer', async () => {
    await informer.close();
    expect(await lastValueFrom(informer.events$.pipe(toArray()))).toEqual([]);
  });
});

describe('watchEvents()', () => {
  it('shows a slow loop the latest state of each object, once (I5)', async () => {
    source.add(pod({ name: 'a' }));
    source.add(pod({ name: 'b' }));
    informer.start();
    await settle();
    const iterator = informer.watchEvents()[Symbol.asyncIterator]();
    const next = async (): Promise<string> => text((await iterator.next()).value as InformerEvent<TestPod>);
    expect(await next()).toBe('added a@1');
    for (let i = 0; i < 100; i++) source.modify(pod({ name: 'a' })); // 3…102
    source.modify(pod({ name: 'b' })); // 103: b waits still, as a part of the initial state
    source.add(pod({ name: 'c' }));
    source.delete({ name: 'c' });
    expect([await next(), await next(), await next()]).toEqual(['added b@103', 'synced', 'updated a@102']);
    source.delete({ name: 'a' }); // 106
    source.add(pod({ name: 'a' })); // 107
    expect([await next(), await next()]).toEqual(['deleted a@106', 'added a@107']);
    await iterator.return?.();
  });

  it('waits for events and ends with the signal', async () => {
    informer.start();
    const abort = new AbortController();
    const seen: string[] = [];
    const loop = (async () => {
      for await (const event of informer.watchEvents({ signal: abort.signal })) seen.push(text(event));
    })();
    await settle();
    source.add(pod({ name: 'a' }));
    await settle();
    abort.abort();
    await loop;
    source.add(pod({ name: 'b' }));
    expect(seen).toEqual(['synced', 'added a@1']);
    for await (const _ of informer.watchEvents({ signal: abort.signal })) seen.push('never');
    expect(seen).toHaveLength(2);
  });

  it('ends when the informer closes, and when the loop is left', async () => {
    informer.start();
    await settle();
    for await (const event of informer.watchEvents()) {
      expect(event.type).toBe('synced');
      break;
    }
    const rest = informer.watchEvents()[Symbol.asyncIterator]();
    await rest.next();
    const waiting = rest.next();
    await informer.close();
    expect(await waiting).toEqual({ done: true, value: undefined });
    expect(await rest.next()).toEqual({ done: true, value: undefined });
  });
});

const change = (name: string, type: 'added' | 'updated' | 'deleted', version: string): ObjectChange<TestPod> => {
  const object: Pod = pod({ name, resourceVersion: version });
  const key = objectKey('default', name);
  if (type === 'added') return { type, key, object, isInInitialList: false };
  if (type === 'updated') return { type, key, object, oldObject: pod({ name, resourceVersion: `${version}-old` }) };
  return { type, key, object, isFinalStateUnknown: false };
};

describe('ConflatingQueue', () => {
  it.each<[string, ['added' | 'updated' | 'deleted', string][], string[]]>([
    [
      'an addition and an update are the addition of the newest',
      [
        ['added', '1'],
        ['updated', '2'],
      ],
      ['added a@2'],
    ],
    [
      'an addition and a deletion are nothing',
      [
        ['added', '1'],
        ['deleted', '2'],
      ],
      [],
    ],
    [
      'updates are one',
      [
        ['updated', '1'],
        ['updated', '2'],
        ['updated', '3'],
      ],
      ['updated a@3'],
    ],
    [
      'an update and a deletion are the deletion',
      [
        ['updated', '1'],
        ['deleted', '2'],
      ],
      ['deleted a@2'],
    ],
    [
      'a deletion and an addition are both told',
      [
        ['deleted', '1'],
        ['added', '2'],
      ],
      ['deleted a@1', 'added a@2'],
    ],
    [
      'a re-creation that vanished again is not told',
      [
        ['deleted', '1'],
        ['added', '2'],
        ['deleted', '3'],
      ],
      ['deleted a@1'],
    ],
    [
      'a re-creation takes later updates',
      [
        ['deleted', '1'],
        ['added', '2'],
        ['updated', '3'],
      ],
      ['deleted a@1', 'added a@3'],
    ],
  ])('%s', (_name, pushes, told) => {
    const queue = new ConflatingQueue<TestPod>();
    for (const [type, version] of pushes) queue.push(change('a', type, version));
    const seen: string[] = [];
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) seen.push(text(next));
    expect(seen).toEqual(told);
    expect(queue.size).toBe(0);
  });

  it('keeps the old object of the first update, and a key its place in line', () => {
    const queue = new ConflatingQueue<TestPod>();
    queue.push(change('a', 'updated', '1'));
    queue.push(change('b', 'added', '2'));
    queue.push(change('a', 'updated', '3'));
    expect(queue.conflated).toBe(1);
    expect(queue.shift()).toMatchObject({ key: 'default/a', oldObject: { metadata: { resourceVersion: '1-old' } } });
    expect(queue.shift()).toMatchObject({ key: 'default/b' });
  });
});

describe('conflateByKey', () => {
  it('runs one task at a time per object and merges what comes meanwhile', async () => {
    const events = new Subject<InformerEvent<TestPod>>();
    const started: string[] = [];
    const ends: (() => void)[] = [];
    const done = lastValueFrom(
      events.pipe(
        conflateByKey(
          async (next) => {
            started.push(text(next));
            await new Promise<void>((resolve) => ends.push(resolve));
            return next.key;
          },
          { concurrency: 2 },
        ),
        toArray(),
      ),
    );
    events.next({ type: 'synced' });
    events.next(change('a', 'updated', '1'));
    for (const version of ['2', '3', '4']) events.next(change('a', 'updated', version));
    events.next(change('b', 'added', '5'));
    events.next(change('c', 'added', '6'));
    expect(started).toEqual(['updated a@1', 'added b@5']);
    ends[1]?.();
    await settle();
    expect(started).toEqual(['updated a@1', 'added b@5', 'added c@6']);
    events.complete();
    ends[0]?.();
    await settle();
    expect(started).toEqual(['updated a@1', 'added b@5', 'added c@6', 'updated a@4']);
    for (const end of ends) end();
    expect(await done).toEqual(['default/b', 'default/a', 'default/c', 'default/a']);
  });

  it('errors with what a task rejects with, and starts no more', async () => {
    const events = new Subject<InformerEvent<TestPod>>();
    const started: string[] = [];
    const done = lastValueFrom(
      events.pipe(
        conflateByKey(async (next) => {
          started.push(text(next));
          throw new Error('boom');
        }),
      ),
    );
    events.next(change('a', 'added', '1'));
    events.next(change('b', 'added', '2'));
    await expect(done).rejects.toThrow('boom');
    expect(started).toEqual(['added a@1']);
    expect(events.observed).toBe(false);
  });

  it('refuses a concurrency below 1', () => {
    expect(() => conflateByKey(async () => undefined, { concurrency: 0 })).toThrow(TypeError);
  });
});
