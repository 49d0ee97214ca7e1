import { type DeepReadonly, silentLogger } from '@kapstan/api';
import { internalError } from '@kapstan/api/errors';
import { FakeListerWatcher, LeakCheck, pod, settle, type TestPod, testPods, VirtualClock } from '@kapstan/api/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { isDeletedFinalStateUnknown } from './fifo/deleted-final-state-unknown.ts';
import { SharedInformer } from './shared-informer.ts';
import type { SharedInformerOptions } from './shared-informer-options.ts';

type Pod = DeepReadonly<TestPod>;
let clock: VirtualClock;
let source: FakeListerWatcher<TestPod>;
let informer: SharedInformer<TestPod>;
let errors: string[];
let leaks: LeakCheck;

function create(options: SharedInformerOptions<TestPod> = {}): void {
  informer = new SharedInformer<TestPod>(source, {
    clock,
    random: () => 0,
    resource: testPods,
    useWatchList: false,
    logger: silentLogger,
    onHandlerError: (error) => errors.push((error as Error).message),
    ...options,
  });
}

beforeEach(() => {
  clock = new VirtualClock();
  leaks = new LeakCheck({ clock });
  source = new FakeListerWatcher<TestPod>({ startVersion: 10 });
  errors = [];
});
afterEach(async () => {
  await informer.close();
  expect([source.openWatches, clock.pendingTimers]).toEqual([0, 0]);
  await leaks.assertNone();
});

const lifecycles: readonly [string, (add: () => void) => void][] = [
  ['never starts', (add) => add()],
  [
    'starts before they come',
    (add) => {
      informer.start();
      add();
    },
  ],
  [
    'starts after they have come',
    (add) => {
      add();
      informer.start();
    },
  ],
];

describe.each(lifecycles)('handlers of an informer that %s', (_name, begin) => {
  it('can be removed one by one: those that stay are told, those that went are not', async () => {
    create({ resyncMs: 5000 });
    const calls = [0, 0, 0];
    const registrations: ReturnType<typeof informer.addEventHandler>[] = [];
    begin(() => {
      for (const i of calls.keys())
        registrations.push(informer.addEventHandler({ onAdd: () => void calls.splice(i, 1, (calls[i] ?? 0) + 1) }));
    });
    await settle();
    const seen: number[][] = [];
    for (const [i, registration] of registrations.entries()) {
      await registration.close();
      if (informer.isStarted) source.add(pod({ name: `p${i}` }));
      seen.push([...calls]);
    }
    expect(seen).toEqual(
      informer.isStarted
        ? [
            [0, 1, 1],
            [0, 1, 2],
            [0, 1, 2],
          ]
        : Array(3).fill([0, 0, 0]),
    );
  });

  it('leave nothing behind when it closes (I9)', async () => {
    create({ resyncMs: 5000, mutationDetection: 'compare' });
    begin(() => {
      for (let i = 0; i < 3; i++) informer.addEventHandler({ onAdd: () => Promise.resolve() });
    });
    await settle();
    await informer.close();
    await informer.close();
    expect([source.openWatches, clock.pendingTimers, informer.isStopped]).toEqual([0, 0, true]);
  });
});

describe('the removal of a handler', () => {
  it('does not wait for a call under way, whose failure is told all the same', async () => {
    create();
    let fail: (error: Error) => void = () => undefined;
    const registration = informer.addEventHandler({
      onAdd: () =>
        new Promise<void>((_resolve, reject) => {
          fail = reject;
        }),
    });
    informer.start();
    await settle();
    source.add(pod({ name: 'a' }));
    source.add(pod({ name: 'b' }));
    informer.removeEventHandler(registration);
    expect([registration.backlog, errors]).toEqual([0, []]);
    fail(new Error('late'));
    await settle();
    expect([errors, registration.errors]).toEqual([['late'], 1]);
  });

  it('counts at once: who is removed by another handler in a delivery is not told of that change any more', async () => {
    create();
    const told: string[] = [];
    informer.addEventHandler({ onAdd: () => informer.removeEventHandler(later) });
    const later = informer.addEventHandler({ onAdd: () => void told.push('later') });
    informer.addEventHandler({ onAdd: () => void told.push('last') });
    informer.start();
    await settle();
    source.add(pod({ name: 'a' }));
    expect(told).toEqual(['last']);
  });

  it('is no error on an informer that has stopped, nor when it is gone already', async () => {
    create();
    const registration = informer.addEventHandler({});
    informer.start();
    await informer.close();
    informer.removeEventHandler(registration);
    informer.removeEventHandler(registration);
    await registration.close();
    expect(registration.hasSynced).toBe(false);
  });
});

describe('what handlers are told of', () => {
  it('transformed objects on both sides of an update, in deletions, after a relist and in resyncs', async () => {
    let transforms = 0;
    create({
      resyncMs: 2000,
      transform: (object) => {
        transforms++;
        if (object.metadata?.labels?.transformed !== undefined) throw new Error('transformed twice');
        return { ...object, metadata: { ...object.metadata, labels: { transformed: 'yes' } } } as Pod;
      },
    });
    const told: string[] = [];
    const mark = ({ metadata }: Pod): string => `${metadata?.name}:${metadata?.labels?.transformed}`;
    informer.addEventHandler({
      onAdd: (object) => void told.push(`add ${mark(object)}`),
      onUpdate: (before, after) => void told.push(`update ${mark(before)} ${mark(after)}`),
      onDelete: (object) =>
        void told.push(
          isDeletedFinalStateUnknown<TestPod>(object)
            ? `tombstone ${mark(object.object as Pod)}`
            : `delete ${mark(object)}`,
        ),
    });
    for (const name of ['a', 'b', 'c']) source.add(pod({ name }));
    informer.start();
    await settle();
    source.modify(pod({ name: 'a' }));
    source.delete({ name: 'b' });
    source.resetWatches(internalError('x'));
    source.delete({ name: 'c' });
    await clock.advance(800);
    expect(told).toEqual([
      'add a:yes',
      'add b:yes',
      'add c:yes',
      'update a:yes a:yes',
      'delete b:yes',
      'update a:yes a:yes',
      'tombstone c:yes',
    ]);
    const before = transforms;
    told.length = 0;
    await clock.advance(2000);
    expect(told).toEqual(['update a:yes a:yes']);
    expect([transforms - before, errors]).toEqual([0, []]);
  });

  it('after a disruption: the real changes for all, what stayed as it was for those that are due for a resync', async () => {
    create({ resyncMs: 1000 });
    const told: Record<string, string[]> = { resyncing: [], other: [] };
    const note = (who: string) => ({
      onAdd: ({ metadata }: Pod) => void told[who]?.push(`add ${metadata?.name}`),
      onUpdate: (_before: Pod, { metadata }: Pod) => void told[who]?.push(`update ${metadata?.name}`),
      onDelete: (object: unknown) => void told[who]?.push(`delete ${(object as { key: string }).key}`),
    });
    informer.addEventHandler(note('resyncing'), { resyncMs: 1000 });
    informer.addEventHandler(note('other'), { resyncMs: 0 });
    for (const name of ['changed', 'gone', 'same']) source.add(pod({ name }));
    informer.start();
    await settle();
    await clock.advance(1000); // the first evaluation: one is due, the other is not
    for (const calls of Object.values(told)) calls.length = 0;
    source.resetWatches(internalError('x'));
    source.modify(pod({ name: 'changed' }));
    source.delete({ name: 'gone' });
    source.add(pod({ name: 'new' }));
    await clock.advance(800);
    expect(told.other?.sort()).toEqual(['add new', 'delete default/gone', 'update changed']);
    expect(told.resyncing?.sort()).toEqual(['add new', 'delete default/gone', 'update changed', 'update same']);
  });
});
