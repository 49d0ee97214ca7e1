import { type DeepReadonly, silentLogger } from '@kapstan/api';
import { internalError } from '@kapstan/api/errors';
import { deepFreeze } from '@kapstan/api/internal';
import { FakeListerWatcher, pod, settle, type TestPod, VirtualClock } from '@kapstan/api/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SharedInformer } from '../shared-informer.ts';
import { Indexer } from '../store/indexer.ts';
import { DeltaFifo } from './delta-fifo.ts';
import type { Fifo, FifoOptions } from './fifo.ts';
import { InOrderFifo } from './in-order-fifo.ts';

type Pod = DeepReadonly<TestPod>;
const make = (name: string, version: string): Pod => deepFreeze(pod({ name, resourceVersion: version }));
const kinds = [
  ['delta', (options: FifoOptions<TestPod> = {}): Fifo<TestPod> => new DeltaFifo(options)],
  ['inOrder', (options: FifoOptions<TestPod> = {}): Fifo<TestPod> => new InOrderFifo(options)],
] as const;

/** Returns the version after each pop. */
function versionsOf(fifo: Fifo<TestPod>): string[] {
  const versions = [fifo.resourceVersion];
  while (fifo.pop(() => versions.push(fifo.resourceVersion)));
  return versions;
}

describe.each(kinds)('versions that travel through a FIFO: %s', (_, create) => {
  it('reaches the version of a list with its last object, whatever the versions of the objects', () => {
    const fifo = create();
    fifo.replace([make('a', '30'), make('b', '7')], '40');
    expect(versionsOf(fifo)).toEqual(['', '', '40']);
  });

  it('reaches the version of a bookmark when all that was queued before it is popped', () => {
    const fifo = create();
    fifo.add(make('a', '5'));
    fifo.bookmark('9');
    fifo.add(make('b', '10'));
    expect(versionsOf(fifo)).toEqual(['', '9', '10']);
  });

  it.each<[string, (fifo: Fifo<TestPod>) => void]>([
    ['a bookmark', (fifo) => fifo.bookmark('9')],
    ['an empty list', (fifo) => fifo.replace([], '9')],
  ])('reaches %s at once where nothing waits', (_name, act) => {
    const fifo = create();
    act(fifo);
    expect(fifo.resourceVersion).toBe('9');
  });

  it('waits for the tombstones of a list', () => {
    const knownObjects = new Indexer<TestPod>();
    knownObjects.add(make('gone', '1'));
    const fifo = create({ knownObjects });
    fifo.replace([], '9');
    expect(versionsOf(fifo)).toEqual(['', '9']);
  });

  it('takes the version of an object before the transform, and that of a deletion', () => {
    const knownObjects = new Indexer<TestPod>();
    knownObjects.add(make('b', '1'));
    const fifo = create({
      knownObjects,
      transform: ({ metadata: { name = '', namespace = '' } = {} }) => ({ metadata: { name, namespace } }),
    });
    fifo.add(make('a', '5'));
    fifo.delete(make('b', '6'));
    expect(versionsOf(fifo)).toEqual(['', '5', '6']);
  });

  it('does not count a change that the transform refused', () => {
    const fifo = create({
      transform: () => {
        throw new Error('bad transform');
      },
    });
    fifo.bookmark('4');
    expect(() => fifo.add(make('a', '5'))).toThrow('bad transform');
    expect(fifo.resourceVersion).toBe('4');
  });

  it('never reaches a version before all changes up to it are popped, and never goes back', () => {
    const step = fc.constantFrom('a', 'b', 'c', 'bookmark', 'pop');
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const fifo = create();
        const waiting = new Set<number>();
        let version = 0;
        let last = 0;
        const look = (): void => {
          const reached = Number(fifo.resourceVersion);
          expect(reached).toBeGreaterThanOrEqual(last);
          for (const each of waiting) expect(each).toBeGreaterThan(reached);
          last = reached;
        };
        const pop = (): boolean =>
          fifo.pop((deltas) => {
            for (const { object } of deltas) waiting.delete(Number((object as Pod).metadata?.resourceVersion));
            look();
          });
        for (const next of steps) {
          if (next === 'pop') pop();
          else if (next === 'bookmark') fifo.bookmark(String(++version));
          else {
            waiting.add(++version);
            fifo.update(make(next, String(version)));
          }
          look();
        }
        while (pop());
        expect(Number(fifo.resourceVersion)).toBe(version);
      }),
    );
  });
});

it('DeltaFifo, which pops changes of one object together, waits for what came between them', () => {
  const fifo = new DeltaFifo<TestPod>();
  fifo.add(make('a', '5'));
  fifo.add(make('b', '6'));
  fifo.update(make('a', '7'));
  expect(versionsOf(fifo)).toEqual(['', '5', '7']);
});

it('DeltaFifo counts the deletion of what nobody knows as seen', () => {
  const fifo = new DeltaFifo<TestPod>();
  fifo.delete(make('a', '5'));
  expect([fifo.length, fifo.resourceVersion]).toEqual([0, '5']);
});

describe.each(['delta', 'inOrder'] as const)('the version of the cache: %s', (fifo) => {
  async function started(source: FakeListerWatcher<TestPod>, options: { readonly useWatchList: boolean }) {
    const clock = new VirtualClock();
    const informer = new SharedInformer<TestPod>(source, {
      clock,
      random: () => 0,
      fifo,
      logger: silentLogger,
      ...options,
    });
    const seen: string[] = [];
    informer.addEventHandler({
      onAdd: (object) => void seen.push(`${object.metadata?.name} at ${informer.indexer.resourceVersion}`),
      onDelete: () => void seen.push(`deletion at ${informer.indexer.resourceVersion}`),
    });
    informer.start();
    await settle();
    return { informer, seen, clock };
  }

  it.each([{ useWatchList: true }, { useWatchList: false }])(
    'is that of the list, once all is cached: %o',
    async (options) => {
      const source = new FakeListerWatcher<TestPod>({ startVersion: 10 });
      for (const name of ['a', 'b']) source.add(pod({ name }));
      source.bookmark(); // 13
      const { informer, seen, clock } = await started(source, options);
      expect(seen).toEqual(['a at ', 'b at 13']);
      expect(informer.indexer.resourceVersion).toBe('13');
      source.add(pod({ name: 'c' }));
      source.bookmark();
      expect([seen.at(-1), informer.indexer.resourceVersion]).toEqual(['c at 14', '15']);
      source.resetWatches(internalError('x'));
      source.delete({ name: 'a' });
      source.bookmark();
      await clock.advance(800);
      // With InOrderFifo the tombstones come before the objects of a list, so they do not have its version until the end.
      expect(seen.at(-1)).toBe(fifo === 'delta' ? 'deletion at 17' : 'deletion at 15');
      expect(informer.indexer.resourceVersion).toBe('17');
      await informer.close();
    },
  );

  it('does not run ahead of a list that is still being taken in', async () => {
    const source = new FakeListerWatcher<TestPod>({ startVersion: 0 });
    for (let i = 0; i < 300; i++) source.add(pod({ name: `p${i}` }));
    let now = 0;
    const idle = () => () => undefined;
    const clock = { now: () => 0, monotonicNow: () => now, setTimer: idle, setBackgroundTimer: idle };
    const informer = new SharedInformer<TestPod>(source, { clock, fifo });
    informer.addEventHandler({
      onAdd: () => {
        now++;
      },
    });
    informer.start();
    while (informer.indexer.size === 0) await Promise.resolve();
    expect(informer.hasSynced).toBe(false);
    source.bookmark(); // 301
    expect([informer.lastSyncResourceVersion, informer.indexer.resourceVersion]).toEqual(['301', '']);
    await informer.whenSynced();
    expect(informer.indexer.resourceVersion).toBe('301');
    await informer.close();
  });
});
