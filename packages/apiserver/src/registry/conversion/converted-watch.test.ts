import { everyField, everyLabel, type UnstructuredObject } from '@kapstan/api';
import { defaultAttributes, type Storage, type StorageEvent, type StorageWatchSink, Stored } from '@kapstan/storage';
import { beforeEach, describe, expect, it } from 'vitest';
import { ConvertedObjects, maxBatchBytes, maxBatchObjects } from './converted-objects.ts';
import { ConvertedWatch } from './converted-watch.ts';

const predicate = {
  labels: everyLabel,
  fields: everyField,
  getAttributes: defaultAttributes(true),
  limit: 0,
  continue: '',
  allowWatchBookmarks: false,
};

/** Requested batches, each with the function that settles it. */
let asked: { readonly count: number; finish(): void }[];
let objects: ConvertedObjects;
let below: StorageWatchSink<UnstructuredObject>;
let isClosed: boolean;
const begun = Promise.resolve();
let told: string[];
const base = {
  watch: (_key: string, _options: unknown, sink: StorageWatchSink<UnstructuredObject>) => {
    below = sink;
    return {
      begun,
      close: () => {
        isClosed = true;
      },
    };
  },
} as unknown as Storage<UnstructuredObject>;

function startWatch(): ConvertedWatch {
  const sink: StorageWatchSink<UnstructuredObject> = {
    onEvent: (event) => void told.push(event.type === 'BOOKMARK' ? 'BOOKMARK' : `${event.type} ${event.stored.key}`),
    onEnd: (error) => void told.push(`END ${error?.message ?? ''}`),
  };
  const watch = new ConvertedWatch({ objects, predicate, sink });
  watch.start(base, '/registry/x.io/ws/', { predicate, recursive: true });
  return watch;
}

beforeEach(() => {
  asked = [];
  told = [];
  isClosed = false;
  const conversion = {
    convert: (many: readonly object[], apiVersion: string) =>
      new Promise<UnstructuredObject[]>((resolve) => {
        asked.push({ count: many.length, finish: () => resolve(many.map((one) => ({ ...one, apiVersion }))) });
      }),
  };
  objects = new ConvertedObjects({ conversion, apiVersion: 'x.io/v2' });
});

function storedIn(version: string, name: string, bytes = 100): Stored<UnstructuredObject> {
  const stored = new Stored<UnstructuredObject>(name, 7 as never, {
    apiVersion: `x.io/${version}`,
    metadata: { name },
  });
  stored.storedBytes = bytes;
  return stored;
}

const added = (stored: Stored<UnstructuredObject>): StorageEvent<UnstructuredObject> => ({ type: 'ADDED', stored });
const bookmark: StorageEvent<UnstructuredObject> = { type: 'BOOKMARK', revision: 9 as never, initialEventsEnd: false };
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
/** Waits until this many batches have been requested, which takes some turns for long ones, and settles the last. */
const settle = async (count: number): Promise<void> => {
  while (asked.length < count) await turn();
  asked[count - 1]?.finish();
};

describe('ConvertedWatch', () => {
  it('has begun when the watch below has', () => {
    expect(startWatch().begun).toBe(begun);
  });

  it('passes what needs no conversion at once, in the same turn', () => {
    startWatch();
    below.onEvent(added(storedIn('v2', 'a')));
    below.onEvent(bookmark);
    expect(told).toEqual(['ADDED a', 'BOOKMARK']);
    expect(asked).toEqual([]);
  });

  it('lets nothing overtake an event that is being converted, not even its end', async () => {
    startWatch();
    below.onEvent(added(storedIn('v1', 'a')));
    below.onEvent(added(storedIn('v2', 'b')));
    below.onEvent(bookmark);
    below.onEnd();
    expect(told).toEqual([]);
    await settle(1);
    await turn();
    expect(told).toEqual(['ADDED a', 'ADDED b', 'BOOKMARK', 'END ']);
  });

  it('converts what came meanwhile in one call', async () => {
    startWatch();
    below.onEvent(added(storedIn('v1', 'a')));
    for (const name of ['b', 'c', 'd']) below.onEvent(added(storedIn('v1', name)));
    await settle(1);
    await turn();
    expect(asked.map(({ count }) => count)).toEqual([1, 3]);
  });

  it('holds initial objects back while many wait', async () => {
    startWatch();
    for (let index = 0; index < 600; index++) below.onEvent(added(storedIn('v1', `w${index}`)));
    expect(below.isFull).toBe(true);
    let hasRoom = false;
    below.onRoom = () => {
      hasRoom = true;
    };
    for (let call = 1; call <= 3; call++) await settle(call);
    await settle(4);
    while (told.length < 600) await turn();
    expect([hasRoom, below.isFull]).toEqual([true, false]);
  });

  it('ends when its conversions are too far behind, instead of keeping events without bound', () => {
    startWatch();
    for (let index = 0; index < 5_002; index++) below.onEvent(added(storedIn('v1', `w${index}`)));
    expect(told).toEqual(['END ']);
    expect(isClosed).toBe(true);
  });

  it('says nothing more once it is closed', async () => {
    const watch = startWatch();
    below.onEvent(added(storedIn('v1', 'a')));
    await turn();
    expect(asked).toHaveLength(1);
    watch.close();
    asked[0]?.finish();
    await turn();
    expect(told).toEqual([]);
  });
});

describe('ConvertedObjects', () => {
  it('converts a long list in calls of bounded count and bytes', async () => {
    const many = Array.from({ length: maxBatchObjects + 1 }, (_, index) => storedIn('v1', `w${index}`));
    const converting = objects.all(many);
    await settle(1);
    await settle(2);
    await converting;
    expect(asked.map(({ count }) => count)).toEqual([maxBatchObjects, 1]);
    asked = [];
    const large = ['a', 'b', 'c'].map((name) => storedIn('v1', name, maxBatchBytes * 0.6));
    const slow = objects.all(large);
    for (let call = 1; call <= 3; call++) await settle(call);
    await slow;
    expect(asked.map(({ count }) => count)).toEqual([1, 1, 1]);
  });

  it('asks once for what several want at the same time', async () => {
    const one = storedIn('v1', 'a');
    const both = Promise.all([objects.all([one]), objects.all([one, one])]);
    await settle(1);
    const [[first], [second, third]] = (await both) as never as [[object], [object, object]];
    expect(first === second && second === third).toBe(true);
    expect(asked).toHaveLength(1);
  });

  it('asks again after a failure', async () => {
    let isFailing = true;
    const conversion = {
      convert: async (many: readonly object[], apiVersion: string) => {
        if (isFailing) throw new Error('not now');
        return many.map((one) => ({ ...one, apiVersion }));
      },
    };
    const retried = new ConvertedObjects({ conversion, apiVersion: 'x.io/v2' });
    const one = storedIn('v1', 'a');
    await expect(retried.all([one])).rejects.toThrow('not now');
    isFailing = false;
    expect((await retried.all([one]))[0]?.object.apiVersion).toBe('x.io/v2');
  });
});
