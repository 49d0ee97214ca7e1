import { type DeepReadonly, objectKey } from '@kapstan/api';
import { deepFreeze } from '@kapstan/api/internal';
import { pod, type TestPod } from '@kapstan/api/testing';
import { describe, expect, it } from 'vitest';
import { Indexer } from '../store/indexer.ts';
import { DeletedFinalStateUnknown, isDeletedFinalStateUnknown } from './deleted-final-state-unknown.ts';
import { DeltaFifo } from './delta-fifo.ts';
import type { Fifo, FifoOptions } from './fifo.ts';
import { InOrderFifo } from './in-order-fifo.ts';

type Pod = DeepReadonly<TestPod>;
const make = (name: string, version = '1'): Pod => deepFreeze(pod({ name, resourceVersion: version }));
const tombstone = (name: string, object?: Pod) =>
  new DeletedFinalStateUnknown<TestPod>(objectKey('default', name), object);

function known(...objects: Pod[]): Indexer<TestPod> {
  const indexer = new Indexer<TestPod>();
  for (const object of objects) indexer.add(object);
  return indexer;
}

const text = (object: Pod | DeletedFinalStateUnknown<TestPod>): string =>
  isDeletedFinalStateUnknown<TestPod>(object)
    ? `†${object.key.split('/')[1]}${object.object === undefined ? '' : `@${(object.object as TestPod).metadata?.resourceVersion}`}`
    : `${object.metadata?.name}@${object.metadata?.resourceVersion}`;

/** Pops everything; returns one text per entry, its changes joined. */
function drain(fifo: Fifo<TestPod>): string[] {
  const entries: string[] = [];
  while (fifo.pop((deltas) => entries.push(deltas.map((d) => `${d.type} ${text(d.object)}`).join(', '))));
  return entries;
}

const kinds = {
  DeltaFifo: (options: FifoOptions<TestPod> = {}): Fifo<TestPod> => new DeltaFifo(options),
  InOrderFifo: (options: FifoOptions<TestPod> = {}): Fifo<TestPod> => new InOrderFifo(options),
};

describe.each(Object.entries(kinds))('%s', (_, create) => {
  it('hands out objects in the order of their first change', () => {
    const fifo = create();
    for (const name of ['b', 'a', 'c']) fifo.add(make(name));
    expect(fifo.length).toBe(3);
    expect(drain(fifo)).toEqual(['Added b@1', 'Added a@1', 'Added c@1']);
    expect(fifo.length).toBe(0);
  });

  it('appends a Replaced behind a queued deletion, so that no creation is lost', () => {
    const fifo = create({ knownObjects: known(make('a')) });
    fifo.delete(make('a'));
    fifo.replace([make('a', '2')]);
    expect(drain(fifo).join(', ')).toBe('Deleted a@1, Replaced a@2');
  });

  it('buries on replace what was only known (I7)', () => {
    const fifo = create({ knownObjects: known(make('a', '5'), make('b', '6')) });
    fifo.replace([make('a', '7')]);
    expect(drain(fifo).sort()).toEqual(['Deleted †b@6', 'Replaced a@7']);
  });

  it('buries on replace what was only queued, with its newest state (I7)', () => {
    const fifo = create({ knownObjects: known() });
    fifo.add(make('a'));
    fifo.update(make('a', '2'));
    fifo.replace([]);
    expect(drain(fifo).join(', ')).toBe('Added a@1, Updated a@2, Deleted †a@2');
  });

  it('buries an object once, although it is known and queued (I7)', () => {
    const fifo = create({ knownObjects: known(make('a', '5')) });
    fifo.update(make('a', '6'));
    fifo.replace([]);
    expect(drain(fifo).join(', ')).toBe('Updated a@6, Deleted †a@6');
  });

  it('does not bury again what is queued for deletion', () => {
    const fifo = create({ knownObjects: known(make('a', '5')) });
    fifo.delete(make('a', '6'));
    fifo.replace([]);
    expect(drain(fifo)).toEqual(['Deleted a@6']);
  });

  it('needs no knownObjects: queued objects are buried all the same', () => {
    const fifo = create();
    fifo.add(make('a'));
    fifo.replace([make('b')]);
    expect(drain(fifo).sort().join('; ')).toContain('Deleted †a@1');
  });

  it('resyncs what is known and not queued', () => {
    const fifo = create({ knownObjects: known(make('a'), make('b')) });
    fifo.update(make('a', '2'));
    fifo.resync();
    expect(drain(fifo)).toEqual(['Updated a@2', 'Sync b@1']);
    const without = create();
    without.add(make('a'));
    without.resync();
    expect(drain(without)).toEqual(['Added a@1']);
  });

  it('transforms each object once, but no tombstone and no resync', () => {
    const seen: string[] = [];
    const knownObjects = known(make('known'));
    const fifo = create({
      knownObjects,
      transform: (object) => {
        seen.push(object.metadata?.name ?? '');
        return make(`${object.metadata?.name}`, '99');
      },
    });
    fifo.resync();
    fifo.add(make('a'));
    fifo.update(make('b'));
    fifo.delete(tombstone('known', make('known', '2')));
    fifo.replace([make('c'), make('a'), make('b')]);
    expect(seen).toEqual(['a', 'b', 'c', 'a', 'b']);
    const entries = drain(fifo).join(', ');
    expect(entries).toContain('Sync known@1, ');
    expect(entries).toContain('Deleted †known@2');
    expect(entries).toContain('Added a@99');
  });

  it('leaves the queue as it is when the transform throws', () => {
    const fifo = create({
      transform: () => {
        throw new Error('bad transform');
      },
    });
    expect(() => fifo.add(make('a'))).toThrow('bad transform');
    expect(fifo.length).toBe(0);
  });

  it.each<[string, (fifo: Fifo<TestPod>) => void, string]>([
    ['that is cached', () => undefined, '†a@1'],
    ['that has changed since, unseen', (fifo) => fifo.bookmark('7'), '†a@1'],
    ['that is queued', (fifo) => fifo.update(make('a', '2')), '†a@2'],
    ['that is queued for deletion', (fifo) => fifo.delete(tombstone('a', make('a', '3'))), '†a@3'],
  ])('queues the deletion of an object %s, as last known, when the transform throws for it', (_name, before, last) => {
    let isBroken = false;
    const transform = (object: Pod): Pod => {
      if (isBroken) throw new Error('bad transform');
      return object;
    };
    const fifo = create({ knownObjects: known(make('a')), transform });
    before(fifo);
    isBroken = true;
    expect(() => fifo.delete(make('a', '8'))).toThrow('the transform of default/a failed: bad transform');
    expect(drain(fifo).join(', ').split(', ').at(-1)).toBe(`Deleted ${last}`);
    expect(fifo.resourceVersion).toBe('8');
  });

  it('says of which object the transform failed, and why', () => {
    const mine = new RangeError('bad transform');
    const transform = (): never => {
      throw mine;
    };
    for (const act of ['add', 'update', 'delete', 'replace'] as const) {
      const fifo = create({ transform, knownObjects: known(make('a')) });
      const fails = (): void => (act === 'replace' ? fifo.replace([make('a')]) : fifo[act](make('a')));
      expect(fails).toThrow(new Error('the transform of default/a failed: bad transform', { cause: mine }));
    }
  });

  it.each<[string, (object: TestPod) => unknown]>([
    ['deletes a field', (object) => delete object.spec],
    ['sets a field', (object) => ((object.metadata as { uid?: string }).uid = '')],
    ['adds a field', (object) => ((object as { more?: string }).more = '')],
    ['adds to a list', (object) => (object as { list?: string[] }).list?.push('')],
  ])('says that a transform that %s must copy', (_name, change) => {
    const transform = (object: Pod): Pod => {
      change(object as TestPod);
      return object;
    };
    const fifo = create({ transform });
    const frozen = deepFreeze({ ...pod({ name: 'a' }), spec: {}, list: [] }) as Pod;
    expect(() => fifo.add(frozen)).toThrow(
      /^the transform of default\/a failed: Cannot .*; a transform may not change its argument: copy it$/,
    );
  });

  it('says nothing of copies where the transform failed for another reason', () => {
    const transform = (): never => {
      throw new TypeError('Cannot read properties of undefined');
    };
    expect(() => create({ transform }).add(make('a'))).toThrow(/: Cannot read properties of undefined$/);
  });

  it.each<[string, unknown, string]>([
    ['forgets to return', undefined, 'the transform of default/a returned no object'],
    ['is async', Promise.resolve(), 'what the transform of default/a gives must be there at once, it is a promise'],
    ['gives an object without metadata', {}, 'the transform of default/a returned no object'],
    ['gives a number', 5, 'the transform of default/a returned no object'],
    ['gives null', null, 'the transform of default/a returned no object'],
    ['renames', make('b'), 'the transform of default/a returned default/b'],
  ])('refuses a transform that %s', (_name, result, message) => {
    const fifo = create({ transform: () => result as Pod });
    expect(() => fifo.add(make('a'))).toThrow(new TypeError(message));
    expect(fifo.length).toBe(0);
  });

  it('refuses an object without metadata', () => {
    expect(() => create().add({ kind: 'Pod' } as Pod)).toThrow(
      `couldn't create key for object {"kind":"Pod"}: object has no meta: metadata is absent`,
    );
  });

  it.each<[string, (fifo: Fifo<TestPod>) => void, number]>([
    ['nothing yet', () => undefined, Number.POSITIVE_INFINITY],
    ['a change before any replace', (fifo) => fifo.add(make('a')), 0],
    ['an empty replace', (fifo) => fifo.replace([]), 0],
    ['a replace of one', (fifo) => fifo.replace([make('a')]), 1],
    ['a replace of two', (fifo) => fifo.replace([make('a'), make('b')]), 2],
  ])('has synced after the pops that it takes: %s', (_name, prepare, pops) => {
    const fifo = create();
    prepare(fifo);
    for (let i = 0; i < 3; i++) {
      expect(fifo.hasSynced).toBe(i >= pops);
      fifo.pop(() => expect(fifo.hasSynced).toBe(i >= pops));
    }
  });

  it('counts the tombstones of the first replace to the initial population', () => {
    const fifo = create({ knownObjects: known(make('a')) });
    fifo.replace([make('b')]);
    fifo.pop(() => undefined);
    expect(fifo.hasSynced).toBe(false);
    fifo.pop(() => undefined);
    expect(fifo.hasSynced).toBe(true);
  });

  it('tells which entries belong to the initial list', () => {
    const fifo = create();
    fifo.replace([make('a'), make('b')]);
    fifo.add(make('c'));
    const flags: boolean[] = [];
    while (fifo.pop((_deltas, isInInitialList) => flags.push(isInInitialList)));
    expect(flags).toEqual([true, true, false]);
  });

  it('passes on what processing throws; the entry is gone, and counts', () => {
    const fifo = create();
    fifo.replace([make('a')]);
    expect(() =>
      fifo.pop(() => {
        throw new Error('boom');
      }),
    ).toThrow('boom');
    expect([fifo.length, fifo.hasSynced]).toEqual([0, true]);
  });

  it('can be drained after close, and then throws', () => {
    const fifo = create();
    fifo.add(make('a'));
    fifo.close();
    expect(fifo.isClosed).toBe(true);
    expect(fifo.pop(() => undefined)).toBe(true);
    expect(() => fifo.pop(() => undefined)).toThrow('DeltaFIFO: manipulating with closed queue');
  });

  it('stays correct over thousands of entries', () => {
    const fifo = create();
    const names = Array.from({ length: 5000 }, (_unused, i) => `n${i}`);
    for (const name of names) fifo.add(make(name));
    expect(drain(fifo)).toEqual(names.map((name) => `Added ${name}@1`));
  });
});

describe('differences between the FIFOs', () => {
  const both = (options: () => FifoOptions<TestPod>, act: (fifo: Fifo<TestPod>) => void): [string[], string[]] => {
    const fifos = [new DeltaFifo(options()), new InOrderFifo(options())] as const;
    for (const fifo of fifos) act(fifo);
    return [drain(fifos[0]), drain(fifos[1])];
  };

  it('DeltaFifo gathers the changes of an object in one entry, InOrderFifo keeps the order of arrival', () => {
    const [delta, inOrder] = both(
      () => ({}),
      (fifo) => {
        fifo.add(make('a'));
        fifo.add(make('b'));
        fifo.update(make('a', '2'));
      },
    );
    expect(delta).toEqual(['Added a@1, Updated a@2', 'Added b@1']);
    expect(inOrder).toEqual(['Added a@1', 'Added b@1', 'Updated a@2']);
  });

  it('DeltaFifo ignores the deletion of what nobody knows, InOrderFifo keeps it', () => {
    const [delta, inOrder] = both(
      () => ({ knownObjects: known(make('b')) }),
      (fifo) => {
        fifo.delete(make('a'));
        fifo.delete(make('b'));
      },
    );
    expect(delta).toEqual(['Deleted b@1']);
    expect(inOrder).toEqual(['Deleted a@1', 'Deleted b@1']);
  });

  it('DeltaFifo collapses two deletions in a row and keeps the one that knows the final state', () => {
    const [delta, inOrder] = both(
      () => ({ knownObjects: known(make('a')) }),
      (fifo) => {
        fifo.delete(tombstone('a', make('a')));
        fifo.delete(make('a', '3'));
        fifo.delete(make('a', '4'));
      },
    );
    expect(delta).toEqual(['Deleted a@3']);
    expect(inOrder).toEqual(['Deleted †a@1', 'Deleted a@3', 'Deleted a@4']);
  });

  it('DeltaFifo takes back what it handed out, unless newer changes are queued; InOrderFifo takes nothing back', () => {
    const fifo = new DeltaFifo<TestPod>({ knownObjects: known() });
    for (const name of ['a', 'b']) fifo.add(make(name));
    fifo.pop((deltas, _isInInitialList, key) => fifo.addIfNotPresent(key, deltas));
    expect(fifo.length).toBe(2);
    fifo.update(make('a', '2'));
    fifo.addIfNotPresent(objectKey('default', 'a'), [{ type: 'Added', object: make('a', '0') }]);
    fifo.addIfNotPresent(objectKey('default', 'c'), []);
    // The entry comes after the ones that waited and before its own later changes, and a replace takes it into account.
    fifo.replace([make('b', '3')]);
    expect(drain(fifo)).toEqual(['Added b@1, Replaced b@3', 'Added a@1, Updated a@2, Deleted †a@2']);
    expect(new InOrderFifo<TestPod>()).not.toHaveProperty('addIfNotPresent');
  });

  it('a replace buries after its objects in DeltaFifo, before them in InOrderFifo', () => {
    const [delta, inOrder] = both(
      () => ({ knownObjects: known(make('a')) }),
      (fifo) => fifo.replace([make('b')]),
    );
    expect(delta).toEqual(['Replaced b@1', 'Deleted †a@1']);
    expect(inOrder).toEqual(['Deleted †a@1', 'Replaced b@1']);
  });

  it('an object that is listed twice is one of the initial population in DeltaFifo, two in InOrderFifo', () => {
    const [delta, inOrder] = both(
      () => ({}),
      (fifo) => fifo.replace([make('a'), make('a', '2')]),
    );
    expect(delta).toEqual(['Replaced a@1, Replaced a@2']);
    expect(inOrder).toEqual(['Replaced a@1', 'Replaced a@2']);
  });
});
