import { type DeepReadonly, silentLogger } from '@kapstan/api';
import { FakeListerWatcher, LeakCheck, pod, settle, type TestPod, testPods, VirtualClock } from '@kapstan/api/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { InformerEvent } from './handlers/object-change.ts';
import { SharedInformer } from './shared-informer.ts';
import type { SharedInformerOptions } from './shared-informer-options.ts';

type Pod = DeepReadonly<TestPod>;
let clock: VirtualClock;
let source: FakeListerWatcher<TestPod>;
let informer: SharedInformer<TestPod>;
let errors: unknown[];
let leaks: LeakCheck;

async function started(options: SharedInformerOptions<TestPod> = {}): Promise<void> {
  informer = new SharedInformer<TestPod>(source, {
    clock,
    random: () => 0,
    resource: testPods,
    onHandlerError: (error) => errors.push(error),
    logger: silentLogger,
    ...options,
  });
  informer.start();
  await settle();
}

const nameOf = (object: Pod | undefined): string => object?.metadata?.name ?? '';
const describeEvent = (event: InformerEvent<TestPod>): string =>
  event.type === 'synced' ? 'synced' : `${event.type} ${nameOf(event.object)}`;

beforeEach(() => {
  clock = new VirtualClock();
  leaks = new LeakCheck({ clock });
  source = new FakeListerWatcher<TestPod>({ startVersion: 10 });
  errors = [];
});
afterEach(async () => {
  await informer.close();
  expect(source.openWatches).toBe(0);
  await leaks.assertNone();
});

describe('SharedInformer: who joins during a delivery', () => {
  it('tells an observer that a handler subscribes of that change once, in its replay', async () => {
    await started();
    const seen: string[] = [];
    informer.addEventHandler({
      onAdd: (object) => {
        if (nameOf(object) === 'a') informer.events$.subscribe((event) => seen.push(describeEvent(event)));
      },
    });
    source.add(pod({ name: 'a' }));
    source.add(pod({ name: 'b' }));
    expect(seen).toEqual(['added a', 'synced', 'added b']);
  });

  it('does not tell an observer of a deletion that was before it', async () => {
    source.add(pod({ name: 'a' }));
    await started();
    const seen: string[] = [];
    informer.addEventHandler({
      onDelete: () => void informer.events$.subscribe((event) => seen.push(describeEvent(event))),
    });
    source.delete({ name: 'a' });
    source.add(pod({ name: 'b' }));
    expect(seen).toEqual(['synced', 'added b']);
  });

  it('tells a handler and an observer that an observer brings in of each change once', async () => {
    await started();
    const seen: string[] = [];
    let hasJoined = false;
    informer.events$.subscribe((event) => {
      if (event.type !== 'added' || hasJoined) return;
      hasJoined = true;
      informer.addEventHandler({ onAdd: (object) => void seen.push(`handler ${nameOf(object)}`) });
      informer.events$.subscribe((each) => seen.push(`observer ${describeEvent(each)}`));
    });
    source.add(pod({ name: 'a' }));
    source.add(pod({ name: 'b' }));
    expect(seen).toEqual(['handler a', 'observer added a', 'observer synced', 'handler b', 'observer added b']);
  });

  it('does not tell an observer any more that a handler has unsubscribed in the same delivery', async () => {
    await started();
    const seen: string[] = [];
    const subscription = informer.events$.subscribe((event) => seen.push(describeEvent(event)));
    const loop = informer.watchEvents()[Symbol.asyncIterator]();
    informer.addEventHandler({ onAdd: () => subscription.unsubscribe() });
    expect(await loop.next()).toEqual({ done: false, value: { type: 'synced' } });
    source.add(pod({ name: 'a' }));
    expect(seen).toEqual(['synced']);
    expect(await loop.next()).toMatchObject({ value: { type: 'added' } });
  });

  it('tells `synced` once to an observer that subscribes when it hears of it', async () => {
    source.add(pod({ name: 'a' }));
    const seen: string[] = [];
    const starting = started();
    informer.events$.subscribe((event) => {
      if (event.type === 'synced') informer.events$.subscribe((each) => seen.push(describeEvent(each)));
    });
    await starting;
    expect(seen).toEqual(['added a', 'synced']);
  });
});

describe.each(['delta', 'inOrder'] as const)('SharedInformer: an index function that throws (%s)', (fifo) => {
  const byNode = (object: Pod): string[] => {
    if (object.spec?.nodeName === undefined) throw new Error('no node');
    return [object.spec.nodeName];
  };

  it('costs the entry in that index only: the cache, the other indexes and the consumers go on', async () => {
    await started({ fifo, indexers: { node: byNode, first: (object) => [nameOf(object)[0]] } });
    const seen: string[] = [];
    informer.addEventHandler({
      onAdd: (object) => void seen.push(`add ${nameOf(object)}`),
      onUpdate: (_before, object) => void seen.push(`update ${nameOf(object)} ${object.spec?.nodeName}`),
      onDelete: (object) => void seen.push(`delete ${nameOf(object as Pod)}`),
    });
    const keys = (): string[] => informer.indexer.indexKeys('node', 'n1');
    source.add(pod({ name: 'a' }));
    expect(informer.indexer.indexKeys('first', 'a')).toEqual(['default/a']);
    expect(keys()).toEqual([]);
    source.modify(pod({ name: 'a' }, { spec: { nodeName: 'n1' } }));
    expect(keys()).toEqual(['default/a']);
    source.modify(pod({ name: 'a' }));
    expect(keys()).toEqual([]);
    source.delete({ name: 'a' });
    expect(seen).toEqual(['add a', 'update a n1', 'update a undefined', 'delete a']);
    expect(errors.map(String)).toEqual(
      Array(2).fill('Error: unable to calculate an index entry for key "default/a" on index "node": no node'),
    );
    expect(informer.handlerErrors).toBe(2);
    expect(informer.indexer.resourceVersion).toBe('14');
  });

  it('does not drop the other changes of that object', async () => {
    source.add(pod({ name: 'trigger' }, { spec: { nodeName: 'n1' } }));
    await started({ fifo, indexers: { node: byNode } });
    const seen: string[] = [];
    informer.addEventHandler({
      onAdd: (object) => {
        seen.push(`add ${nameOf(object)}`);
        if (nameOf(object) !== 'trigger') return;
        // All these changes wait under one key until the replay is over.
        source.add(pod({ name: 'a' }));
        source.modify(pod({ name: 'a' }, { spec: { nodeName: 'n2' } }));
        source.delete({ name: 'a' });
        source.add(pod({ name: 'a' }, { spec: { nodeName: 'n3' } }));
      },
      onUpdate: (_before, object) => void seen.push(`update ${nameOf(object)} ${object.spec?.nodeName}`),
      onDelete: (object) => void seen.push(`delete ${nameOf(object as Pod)}`),
    });
    expect(seen).toEqual(['add trigger', 'add a', 'update a n2', 'delete a', 'add a']);
    expect(informer.indexer.indexKeys('node', 'n3')).toEqual(['default/a']);
  });

  it('refuses an index that cannot be computed for what is cached', async () => {
    source.add(pod({ name: 'a' }));
    await started({ fifo });
    expect(() => informer.addIndexers({ node: byNode })).toThrow('unable to calculate an index entry');
    expect(informer.indexer.hasIndex('node')).toBe(false);
  });
});

describe('SharedInformer: handlers that cause changes (I4)', () => {
  it('calls a slow handler that causes a change in its later calls one call after the other, in order', async () => {
    await started();
    const calls: string[] = [];
    const releases: (() => void)[] = [];
    informer.addEventHandler({
      onAdd: (object) => {
        const name = nameOf(object);
        calls.push(`begin ${name}`);
        if (name === 'b') source.add(pod({ name: 'd' }));
        calls.push(`called ${name}`);
        return new Promise<void>((resolve) => releases.push(resolve));
      },
    });
    for (const name of ['a', 'b', 'c']) source.add(pod({ name }));
    for (let i = 0; i < 4; i++) {
      releases[i]?.();
      await settle();
    }
    expect(calls).toEqual(['a', 'b', 'c', 'd'].flatMap((name) => [`begin ${name}`, `called ${name}`]));
  });

  it('tells others of a change that a late call causes only after that call', async () => {
    await started();
    const calls: string[] = [];
    const releases: (() => void)[] = [];
    informer.addEventHandler({
      onAdd: (object) => {
        if (nameOf(object) === 'b') source.add(pod({ name: 'c' }));
        calls.push(`slow ${nameOf(object)} of ${informer.indexer.size}`);
        return new Promise<void>((resolve) => releases.push(resolve));
      },
    });
    informer.addEventHandler({ onAdd: (object) => void calls.push(`quick ${nameOf(object)}`) });
    informer.events$.subscribe((event) => event.type === 'added' && calls.push(`observer ${nameOf(event.object)}`));
    for (const name of ['a', 'b']) source.add(pod({ name }));
    calls.length = 0;
    releases[0]?.();
    await settle();
    expect(calls).toEqual(['slow b of 2', 'quick c', 'observer c']);
    releases[1]?.();
    await settle();
    expect(calls.at(-1)).toBe('slow c of 3');
    releases[2]?.();
  });

  it('says that a registration is closed only when the call in which it was closed has ended', async () => {
    await started();
    let release: () => void = () => undefined;
    let isClosed = false;
    const registration = informer.addEventHandler({
      onAdd: () => {
        void registration.close().then(() => {
          isClosed = true;
        });
        return new Promise<void>((resolve) => {
          release = resolve;
        });
      },
    });
    source.add(pod({ name: 'a' }));
    await settle();
    expect(isClosed).toBe(false);
    release();
    await settle();
    expect(isClosed).toBe(true);
  });

  it('takes a null for a quick call, and waits for what only looks like a promise', async () => {
    await started();
    const calls: string[] = [];
    // biome-ignore lint/suspicious/noThenProperty: it settles at once, inside `then`, as no real promise does.
    const thenable = { then: (resolve: () => void) => resolve() } as unknown as Promise<void>;
    const registration = informer.addEventHandler({ onAdd: () => thenable });
    informer.addEventHandler({ onAdd: () => null as unknown as undefined });
    informer.addEventHandler({ onAdd: (object) => void calls.push(nameOf(object)) });
    for (const name of ['a', 'b', 'c']) source.add(pod({ name }));
    await settle();
    expect(calls).toEqual(['a', 'b', 'c']);
    expect(errors).toEqual([]);
    expect(registration.backlog).toBe(0);
    await registration.close();
  });
});

describe('SharedInformer: what only shows in the end', () => {
  it('resolves every close only when calls of slow handlers have ended, removed ones too', async () => {
    await started();
    const releases: (() => void)[] = [];
    const slow = { onAdd: (): Promise<void> => new Promise((resolve) => releases.push(resolve)) };
    informer.addEventHandler(slow);
    const removed = informer.addEventHandler(slow);
    source.add(pod({ name: 'a' }));
    informer.removeEventHandler(removed);
    const closed: string[] = [];
    const closings = ['first', 'second'].map((name) => informer.close().then(() => closed.push(name)));
    await settle();
    const third = informer.close().then(() => closed.push('third'));
    await settle();
    expect(closed).toEqual([]);
    releases[0]?.();
    await settle();
    expect(closed, 'the removed one is still busy').toEqual([]);
    releases[1]?.();
    await Promise.all([...closings, third]);
    expect(closed).toHaveLength(3);
  });

  it.each(['delta', 'inOrder'] as const)(
    'tells of updates where the transform drops the resource version, and not of resyncs (%s)',
    async (fifo) => {
      source.add(pod({ name: 'a' }));
      await started({
        fifo,
        resyncMs: 5000,
        transform: ({ metadata: { resourceVersion: _, ...metadata } = {}, ...rest }) => ({ ...rest, metadata }),
      });
      const seen: (string | undefined)[] = [];
      informer.addEventHandler(
        { onUpdate: (_before, object) => void seen.push(object.spec?.nodeName) },
        { resyncMs: 0 },
      );
      const events: string[] = [];
      informer.events$.subscribe((event) => events.push(describeEvent(event)));
      await clock.advance(10_000);
      source.modify(pod({ name: 'a' }, { spec: { nodeName: 'n1' } }));
      await clock.advance(10_000);
      source.modify(pod({ name: 'a' }, { spec: { nodeName: 'n2' } }));
      expect(seen).toEqual(['n1', 'n2']);
      expect(events).toEqual(['added a', 'synced', 'updated a', 'updated a']);
      expect(informer.indexer.resourceVersion).toBe('13');
    },
  );

  it('tells a handler that closes the informer nothing more, neither of the replay nor of the same object', async () => {
    for (const name of ['a', 'b']) source.add(pod({ name }));
    await started();
    const calls: string[] = [];
    const closing = {
      onAdd: (object: Pod) => {
        calls.push(`add ${nameOf(object)}`);
        void informer.close();
      },
    };
    informer.addEventHandler(closing);
    expect(calls).toEqual(['add a']);
    expect(informer.isStopped).toBe(true);
    const events: string[] = [];
    informer.events$.subscribe({
      next: (event) => events.push(describeEvent(event)),
      complete: () => events.push('end'),
    });
    expect(events).toEqual(['end']);

    await started();
    calls.length = 0;
    informer.addEventHandler({
      onAdd: (object) => {
        if (nameOf(object) !== 'a') return;
        // Both changes wait under one key until the replay is over.
        for (const nodeName of ['n1', 'n2']) source.modify(pod({ name: 'a' }, { spec: { nodeName } }));
      },
      onUpdate: (_before, object) => {
        calls.push(`update ${object.spec?.nodeName}`);
        void informer.close();
      },
    });
    expect(calls).toEqual(['update n1']);
    expect(informer.indexer.resourceVersion, 'that of what it holds').toBe('12');
  });

  it.each([-1, Number.NaN])('refuses a resync period of %s', async (resyncMs) => {
    await started();
    expect(() => informer.addEventHandler({}, { resyncMs })).toThrow(
      new TypeError(`resyncMs must be a number of at least 0, not ${resyncMs}`),
    );
    expect(() => new SharedInformer<TestPod>(source, { resyncMs })).toThrow(TypeError);
  });
});
