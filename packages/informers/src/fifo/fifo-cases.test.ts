// Tests both FIFOs, case by case, as in client-go's delta_fifo_test.go and the_real_fifo_test.go; one text per entry.
import { type DeepReadonly, objectKey } from '@kapstan/api';
import { deepFreeze } from '@kapstan/api/internal';
import { pod, type TestPod } from '@kapstan/api/testing';
import { describe, expect, it } from 'vitest';
import { Indexer } from '../store/indexer.ts';
import { DeletedFinalStateUnknown, isDeletedFinalStateUnknown } from './deleted-final-state-unknown.ts';
import { DeltaFifo } from './delta-fifo.ts';
import type { Fifo, FifoOptions, KnownObjects } from './fifo.ts';
import { InOrderFifo } from './in-order-fifo.ts';

type Pod = DeepReadonly<TestPod>;
/** Creates a pod from `foo@5`: name and version. */
const make = (text: string): Pod => {
  const [name = '', resourceVersion = ''] = text.split('@');
  return deepFreeze(pod({ name, resourceVersion }));
};
const textOf = ({ metadata }: Pod): string => `${metadata?.name}@${metadata?.resourceVersion}`;
const text = (object: Pod | DeletedFinalStateUnknown<TestPod>): string => {
  if (!isDeletedFinalStateUnknown<TestPod>(object)) return textOf(object);
  return object.object === undefined ? `†${object.key.split('/')[1]}` : `†${textOf(object.object)}`;
};

function known(...texts: string[]): Indexer<TestPod> {
  const indexer = new Indexer<TestPod>();
  for (const each of texts) indexer.add(make(each));
  return indexer;
}

function drain(fifo: Fifo<TestPod>): string[] {
  const entries: string[] = [];
  while (fifo.pop((deltas) => entries.push(deltas.map((d) => `${d.type} ${text(d.object)}`).join(', '))));
  return entries;
}

const create = {
  DeltaFifo: (options: FifoOptions<TestPod> = {}): Fifo<TestPod> => new DeltaFifo(options),
  InOrderFifo: (options: FifoOptions<TestPod> = {}): Fifo<TestPod> => new InOrderFifo(options),
};
const kinds = ['DeltaFifo', 'InOrderFifo'] as const;

/** Performs steps in short form: `add foo@1`, `replace foo@1 bar@2`, `resync`, `bookmark 9`, `pop`. */
function act(fifo: Fifo<TestPod>, steps: readonly string[]): void {
  for (const step of steps) {
    const [verb, ...rest] = step.split(' ');
    const [first = ''] = rest;
    if (verb === 'add') fifo.add(make(first));
    else if (verb === 'update') fifo.update(make(first));
    else if (verb === 'delete') fifo.delete(make(first));
    else if (verb === 'bury') fifo.delete(new DeletedFinalStateUnknown(objectKey('default', first), undefined));
    else if (verb === 'replace') fifo.replace(rest.map(make));
    else if (verb === 'resync') fifo.resync();
    else if (verb === 'bookmark') fifo.bookmark(first);
    else if (verb === 'pop') fifo.pop(() => undefined);
    else throw new Error(step);
  }
}

interface Case {
  readonly steps: readonly string[];
  /** The objects that the consumer holds; absent = there is no consumer. */
  readonly known?: readonly string[];
  readonly DeltaFifo: readonly string[];
  /** Absent: the same as DeltaFifo. */
  readonly InOrderFifo?: readonly string[];
}

const cases: Record<string, Case> = {
  'keeps the order of objects, whatever happens to them': {
    steps: ['add a@1', 'update b@2', 'add c@3', 'replace a@1 b@2 c@3 d@4'],
    DeltaFifo: ['Added a@1, Replaced a@1', 'Updated b@2, Replaced b@2', 'Added c@3, Replaced c@3', 'Replaced d@4'],
    InOrderFifo: [
      'Added a@1',
      'Updated b@2',
      'Added c@3',
      'Replaced a@1',
      'Replaced b@2',
      'Replaced c@3',
      'Replaced d@4',
    ],
  },
  'shows an addition and what became of it': {
    steps: ['add foo@10', 'update foo@12', 'delete foo@15'],
    DeltaFifo: ['Added foo@10, Updated foo@12, Deleted foo@15'],
    InOrderFifo: ['Added foo@10', 'Updated foo@12', 'Deleted foo@15'],
  },
  'shows an addition and the list that has it too': {
    steps: ['add foo@10', 'replace foo@15'],
    DeltaFifo: ['Added foo@10, Replaced foo@15'],
    InOrderFifo: ['Added foo@10', 'Replaced foo@15'],
  },
  'marks what comes from a list as replaced': {
    steps: ['replace foo@5', 'pop', 'replace foo@6'],
    DeltaFifo: ['Replaced foo@6'],
  },
  'queues what changes while nobody says what is known': {
    steps: ['add foo@10', 'update bar@15', 'add qux@17', 'delete qux@18', 'delete baz@20'],
    DeltaFifo: ['Added foo@10', 'Updated bar@15', 'Added qux@17, Deleted qux@18'],
    InOrderFifo: ['Added foo@10', 'Updated bar@15', 'Added qux@17', 'Deleted qux@18', 'Deleted baz@20'],
  },
  'queues the deletion of what is known only': {
    known: ['foo@5', 'bar@6', 'baz@7'],
    steps: ['add foo@10', 'update bar@15', 'delete baz@17'],
    DeltaFifo: ['Added foo@10', 'Updated bar@15', 'Deleted baz@17'],
  },
  'queues the deletion of what is queued only': {
    known: [],
    steps: ['add foo@5', 'delete foo@6'],
    DeltaFifo: ['Added foo@5, Deleted foo@6'],
    InOrderFifo: ['Added foo@5', 'Deleted foo@6'],
  },
  'resyncs what is known': { known: ['foo@5'], steps: ['resync'], DeltaFifo: ['Sync foo@5'] },
  'resyncs once until it is popped': {
    known: ['foo@5'],
    steps: ['resync', 'resync', 'pop', 'resync'],
    DeltaFifo: ['Sync foo@5'],
  },
  'puts no resync behind a queued deletion': {
    known: ['foo@5'],
    steps: ['delete foo@10', 'resync'],
    DeltaFifo: ['Deleted foo@10'],
  },
  'puts no resync behind a queued update, which is newer': {
    known: ['foo@5'],
    steps: ['update foo@6', 'resync'],
    DeltaFifo: ['Updated foo@6'],
  },
  'puts an update behind a queued resync': {
    known: ['foo@5'],
    steps: ['resync', 'update foo@6'],
    DeltaFifo: ['Sync foo@5, Updated foo@6'],
    InOrderFifo: ['Sync foo@5', 'Updated foo@6'],
  },
  'lets an updated object keep its place in line': {
    steps: ['add foo@10', 'add bar@1', 'add foo@11', 'add foo@13', 'add zab@30'],
    DeltaFifo: ['Added foo@10, Added foo@11, Added foo@13', 'Added bar@1', 'Added zab@30'],
    InOrderFifo: ['Added foo@10', 'Added bar@1', 'Added foo@11', 'Added foo@13', 'Added zab@30'],
  },
  'puts a popped object that changes again at the end': {
    steps: ['add foo@10', 'add bar@1', 'add zab@30', 'pop', 'add foo@14'],
    DeltaFifo: ['Added bar@1', 'Added zab@30', 'Added foo@14'],
  },
  'buries what a list does not have: queued for deletion, known, or both': {
    known: ['foo@5', 'bar@6', 'baz@7'],
    steps: ['delete baz@10', 'replace foo@5'],
    DeltaFifo: ['Deleted baz@10', 'Replaced foo@5', 'Deleted †bar@6'],
    InOrderFifo: ['Deleted baz@10', 'Deleted †bar@6', 'Replaced foo@5'],
  },
  'buries what a list does not have: queued as added': {
    known: ['foo@5', 'bar@6', 'baz@7'],
    steps: ['add baz@10', 'replace foo@5'],
    DeltaFifo: ['Added baz@10, Deleted †baz@10', 'Replaced foo@5', 'Deleted †bar@6'],
    InOrderFifo: ['Added baz@10', 'Deleted †baz@10', 'Deleted †bar@6', 'Replaced foo@5'],
  },
  'buries what a list does not have: deleted and made anew': {
    known: ['foo@5', 'bar@6', 'baz@7'],
    steps: ['delete baz@10', 'add baz@11', 'replace foo@5'],
    DeltaFifo: ['Deleted baz@10, Added baz@11, Deleted †baz@11', 'Replaced foo@5', 'Deleted †bar@6'],
    InOrderFifo: ['Deleted baz@10', 'Added baz@11', 'Deleted †baz@11', 'Deleted †bar@6', 'Replaced foo@5'],
  },
  'buries what a list does not have: where nobody says what is known': {
    steps: ['add baz@10', 'replace foo@5'],
    DeltaFifo: ['Added baz@10, Deleted †baz@10', 'Replaced foo@5'],
    InOrderFifo: ['Added baz@10', 'Deleted †baz@10', 'Replaced foo@5'],
  },
  'buries an object that is queued only, once': {
    steps: ['add foo@1', 'replace'],
    DeltaFifo: ['Added foo@1, Deleted †foo@1'],
    InOrderFifo: ['Added foo@1', 'Deleted †foo@1'],
  },
  'buries an object that is queued only once over two lists': {
    steps: ['add foo@1', 'replace', 'replace'],
    DeltaFifo: ['Added foo@1, Deleted †foo@1'],
    InOrderFifo: ['Added foo@1', 'Deleted †foo@1'],
  },
  'does not bury over two lists what is queued for deletion': {
    steps: ['add foo@1', 'delete foo@2', 'replace', 'replace'],
    DeltaFifo: ['Added foo@1, Deleted foo@2'],
    InOrderFifo: ['Added foo@1', 'Deleted foo@2'],
  },
  'buries once over two lists what a list brought': {
    steps: ['replace foo@1', 'replace', 'replace'],
    DeltaFifo: ['Replaced foo@1, Deleted †foo@1'],
    InOrderFifo: ['Replaced foo@1', 'Deleted †foo@1'],
  },
  'buries once over two lists what was added and updated': {
    steps: ['add foo@1', 'update foo@2', 'replace', 'replace'],
    DeltaFifo: ['Added foo@1, Updated foo@2, Deleted †foo@2'],
    InOrderFifo: ['Added foo@1', 'Updated foo@2', 'Deleted †foo@2'],
  },
  'buries what was deleted and added again': {
    steps: ['add foo@1', 'delete foo@2', 'add foo@3', 'replace', 'replace'],
    DeltaFifo: ['Added foo@1, Deleted foo@2, Added foo@3, Deleted †foo@3'],
    InOrderFifo: ['Added foo@1', 'Deleted foo@2', 'Added foo@3', 'Deleted †foo@3'],
  },
  'buries what two lists have and the third has not': {
    steps: ['replace foo@1', 'replace foo@2', 'replace'],
    DeltaFifo: ['Replaced foo@1, Replaced foo@2, Deleted †foo@2'],
    InOrderFifo: ['Replaced foo@1', 'Replaced foo@2', 'Deleted †foo@2'],
  },
  'takes a bookmark for no object': {
    steps: ['add foo@1', 'bookmark 9', 'replace bar@2', 'bookmark 10'],
    DeltaFifo: ['Added foo@1, Deleted †foo@1', 'Replaced bar@2'],
    InOrderFifo: ['Added foo@1', 'Deleted †foo@1', 'Replaced bar@2'],
  },
  'knows the object of a tombstone by its key': {
    steps: ['add foo@1', 'bury foo', 'add foo@3'],
    DeltaFifo: ['Added foo@1, Deleted †foo, Added foo@3'],
    InOrderFifo: ['Added foo@1', 'Deleted †foo', 'Added foo@3'],
  },
  'puts a list behind what came before it, in its order': {
    known: ['gone@1'],
    steps: ['add a@1', 'replace c@3 a@2 b@2'],
    DeltaFifo: ['Added a@1, Replaced a@2', 'Replaced c@3', 'Replaced b@2', 'Deleted †gone@1'],
    InOrderFifo: ['Added a@1', 'Deleted †gone@1', 'Replaced c@3', 'Replaced a@2', 'Replaced b@2'],
  },
};

describe.each(kinds)('%s', (kind) => {
  it.each(Object.entries(cases))('%s', (_name, { steps, ...rest }) => {
    const fifo = create[kind](rest.known === undefined ? {} : { knownObjects: known(...rest.known) });
    act(fifo, steps);
    const expected = kind === 'InOrderFifo' ? (rest.InOrderFifo ?? rest.DeltaFifo) : rest.DeltaFifo;
    const { length } = fifo;
    expect(drain(fifo)).toEqual(expected);
    expect(length).toBe(expected.length);
  });

  it('buries without a last state what is known by its key only', () => {
    const keysOnly: KnownObjects<TestPod> = {
      listKeys: () => [objectKey('default', 'foo'), objectKey('default', 'bar')],
      getByKey: () => undefined,
    };
    const fifo = create[kind]({ knownObjects: keysOnly });
    fifo.replace([make('foo@5')]);
    fifo.resync();
    expect(drain(fifo).sort()).toEqual(['Deleted †bar', 'Replaced foo@5']);
  });

  it.each<[string, { known?: string[]; steps: string[]; pops: number }]>([
    ['two that are gone since', { known: ['foo@5', 'bar@6', 'baz@7'], steps: ['replace'], pops: 3 }],
    ['one that is there, and one that is gone', { known: ['bar@6'], steps: ['replace foo@5'], pops: 2 }],
    ['two that are there', { steps: ['replace a@1 b@2'], pops: 2 }],
    ['two, while others come in', { steps: ['replace a@1 b@2', 'add c@3', 'update a@4'], pops: 2 }],
    ['what was added before the list, which does not count', { steps: ['add a@1', 'replace a@1 b@2'], pops: 0 }],
    ['a second list, which does not count', { steps: ['replace', 'replace a@1 b@2'], pops: 0 }],
  ])('has synced when its first list is popped: %s', (_name, { steps, pops, ...rest }) => {
    const fifo = create[kind](rest.known === undefined ? {} : { knownObjects: known(...rest.known) });
    expect(fifo.hasSynced).toBe(false);
    act(fifo, steps);
    for (let popped = 0; popped < pops; popped++) {
      expect(fifo.hasSynced).toBe(false);
      expect(fifo.pop(() => undefined)).toBe(true);
    }
    expect(fifo.hasSynced).toBe(true);
  });

  it.each(['update', 'delete'])('has synced at once after the first %s, before any list', (verb) => {
    const fifo = create[kind]();
    act(fifo, [`${verb} foo@1`]);
    expect(fifo.hasSynced).toBe(true);
  });

  it('has not synced by a bookmark or a resync', () => {
    const fifo = create[kind]({ knownObjects: known('a@1') });
    act(fifo, ['bookmark 9', 'resync', 'pop']);
    expect(fifo.hasSynced).toBe(false);
  });

  it('transforms what is added, changed, deleted and listed once, and no tombstone', () => {
    let transforms = 0;
    const fifo = create[kind]({
      knownObjects: known('gone@1'),
      transform: (object) => {
        transforms++;
        return make(`${object.metadata?.name}@t${object.metadata?.resourceVersion}`);
      },
    });
    act(fifo, ['add foo@1', 'update foo@2', 'delete foo@3', 'replace bar@4']);
    expect(transforms).toBe(4);
    const all = drain(fifo).join(', ').split(', ').sort();
    expect(all).toEqual(
      ['Added foo@t1', 'Deleted foo@t3', 'Deleted †gone@1', 'Replaced bar@t4', 'Updated foo@t2'].sort(),
    );
  });

  it('loses nothing that was queued by an object without a key, wherever it stands in a list', () => {
    const broken = { kind: 'Pod' } as Pod;
    for (const list of [[broken], [broken, make('b@2')], [make('b@2'), broken], [make('b@2'), broken, make('c@3')]]) {
      const fifo = create[kind]();
      fifo.add(make('a@1'));
      expect(() => fifo.replace(list)).toThrow(`couldn't create key for object {"kind":"Pod"}`);
      // DeltaFifo has queued the objects before the invalid one.
      if (kind === 'InOrderFifo') expect(fifo.length).toBe(1);
      fifo.replace([make('b@2')]);
      const entries = drain(fifo);
      expect(entries[0]).toContain('Added a@1');
      expect(entries.join(', ')).toContain('Deleted †a@1');
      expect(entries.at(-1)).toContain('Replaced b@2');
    }
  });

  it('refuses every pop from a closed and empty queue, and takes what comes after the close', () => {
    const fifo = create[kind]();
    fifo.close();
    for (let i = 0; i < 3; i++)
      expect(() => fifo.pop(() => undefined)).toThrow('DeltaFIFO: manipulating with closed queue');
    fifo.add(make('a@1'));
    expect(fifo.pop(() => undefined)).toBe(true);
    expect(() => fifo.pop(() => undefined)).toThrow('DeltaFIFO: manipulating with closed queue');
  });
});

it.each([
  ['DeltaFifo', 1],
  ['InOrderFifo', 2],
] as const)('%s has synced after %i pops of an object that was listed twice', (kind, pops) => {
  const fifo = create[kind]();
  fifo.replace([make('a@1'), make('a@2')]);
  for (let popped = 0; popped < pops; popped++) {
    expect(fifo.hasSynced).toBe(false);
    fifo.pop(() => undefined);
  }
  expect(fifo.hasSynced).toBe(true);
});

it.each([
  ['DeltaFifo', ['Deleted bar@2']],
  ['InOrderFifo', ['Deleted bar@2', 'Deleted bar@3']],
] as const)('%s tells of two deletions in a row: %j', (kind, expected) => {
  const fifo = create[kind]({ knownObjects: known('bar@1') });
  act(fifo, ['delete bar@2', 'delete bar@3']);
  expect(drain(fifo)).toEqual(expected);
});
