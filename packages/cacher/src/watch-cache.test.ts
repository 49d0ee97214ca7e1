import { isExpired, type Revision, silentLogger } from '@kapstan/api';
import { pod, type TestPod, VirtualClock } from '@kapstan/api/testing';
import { type StorageEvent, Stored } from '@kapstan/storage';
import { podAttributes } from '@kapstan/storage/testing';
import { describe, expect, it } from 'vitest';
import { WatchCache } from './watch-cache.ts';

const at = (value: number): Revision => value as Revision;

function stored(name: string, revision: number): Stored<TestPod> {
  const object = pod({ name, resourceVersion: String(revision) });
  return new Stored<TestPod>(`/p/${name}`, at(revision), object as Stored<TestPod>['object']);
}

function change(type: 'ADDED' | 'MODIFIED' | 'DELETED', name: string, revision: number) {
  return { type, stored: stored(name, revision) } satisfies StorageEvent<TestPod>;
}

function open(options: { readonly capacity?: number; readonly freeze?: boolean } = {}): WatchCache<TestPod> {
  const bound = options.capacity === undefined ? {} : { minCapacity: options.capacity, maxCapacity: options.capacity };
  return new WatchCache<TestPod>({
    clock: new VirtualClock(),
    getAttributes: podAttributes,
    indexedFields: [],
    history: bound,
    freeze: options.freeze ?? false,
    logger: silentLogger,
  });
}

/** Returns the revisions of the events after a version, or the text of the refusal. */
function revisionsAfter(cache: WatchCache<TestPod>, revision: number): number[] | string {
  try {
    const events: number[] = [];
    for (let i = cache.positionAfter(at(revision)); i < cache.ring.end; i++)
      events.push(cache.ring.at(i)?.revision ?? 0);
    return events;
  } catch (error) {
    expect(isExpired(error)).toBe(true);
    return (error as Error).message;
  }
}

describe('WatchCache', () => {
  it('I2: holds a change, in map and history, before apply returns', () => {
    const cache = open();
    cache.replace([], at(5));
    const event = cache.apply(change('ADDED', 'a', 7));
    expect([cache.revision, cache.store.get('/p/a')?.stored.revision, cache.ring.at(cache.ring.end - 1)]).toEqual([
      7,
      7,
      event,
    ]);
    cache.apply(change('DELETED', 'a', 8));
    expect([cache.revision, cache.store.get('/p/a')]).toEqual([8, undefined]);
  });

  it('knows all events since its list, and says 410 for older versions', () => {
    const cache = open();
    cache.replace([], at(9));
    expect(revisionsAfter(cache, 8)).toBe('too old resource version: 8 (9)');
    expect(revisionsAfter(cache, 9)).toEqual([]);
    cache.apply(change('ADDED', 'a', 12));
    expect([revisionsAfter(cache, 9), revisionsAfter(cache, 11), revisionsAfter(cache, 12)]).toEqual([[12], [12], []]);
  });

  it('I3: says 410 as soon as an event that a watch needs has left the history', () => {
    const cache = open({ capacity: 5 });
    cache.replace([], at(4));
    for (let revision = 5; revision <= 9; revision++) cache.apply(change('ADDED', `p${revision}`, revision));
    expect(revisionsAfter(cache, 4)).toEqual([5, 6, 7, 8, 9]);
    cache.apply(change('DELETED', 'p9', 10));
    expect(revisionsAfter(cache, 4)).toBe('too old resource version: 4 (5)');
    expect(revisionsAfter(cache, 5)).toEqual([6, 7, 8, 9, 10]);
  });

  it('shows a deletion as the last state at the revision of the deletion, made once', () => {
    const cache = open({ freeze: true });
    cache.replace([cache.listed(stored('a', 3))], at(5));
    const event = cache.apply(change('DELETED', 'a', 6));
    expect(event.current).toBeUndefined();
    expect(event.previous?.stored.revision).toBe(3);
    expect(event.lastState?.object.metadata?.resourceVersion).toBe('6');
    expect(event.lastState).toBe(event.lastState);
    expect(Object.isFrozen(event.lastState?.object.metadata)).toBe(true);
  });

  it('keeps the state before a change beside the state after it', () => {
    const cache = open();
    cache.replace([cache.listed(stored('a', 3))], at(5));
    const event = cache.apply(change('MODIFIED', 'a', 6));
    expect([event.previous?.stored.revision, event.current?.stored.revision]).toEqual([3, 6]);
  });

  it('forgets its history with a new list, and goes on from there', () => {
    const cache = open();
    cache.replace([cache.listed(stored('a', 3))], at(5));
    cache.apply(change('ADDED', 'b', 6));
    cache.replace([cache.listed(stored('c', 8))], at(9));
    expect([cache.store.size, cache.revision]).toEqual([1, 9]);
    expect(revisionsAfter(cache, 6)).toBe('too old resource version: 6 (9)');
    expect(revisionsAfter(cache, 9)).toEqual([]);
  });

  it('forgets with a new list also that its history had lost something', () => {
    const cache = open({ capacity: 2 });
    cache.replace([], at(5));
    for (const revision of [6, 7, 8]) cache.apply(change('ADDED', `p${revision}`, revision));
    expect([revisionsAfter(cache, 6), cache.ring.size]).toEqual([[7, 8], 2]);
    cache.replace([cache.listed(stored('c', 8))], at(9));
    expect([revisionsAfter(cache, 7), cache.ring.size]).toEqual(['too old resource version: 7 (9)', 0]);
    cache.apply(change('ADDED', 'd', 12));
    expect(revisionsAfter(cache, 9)).toEqual([12]);
  });

  it('lets no watch begin before a forgotten revision, even when an older one is forgotten later', () => {
    const cache = open();
    cache.replace([], at(4));
    for (let revision = 5; revision <= 8; revision++) cache.apply(change('ADDED', `p${revision}`, revision));
    cache.forgetBefore(at(6));
    cache.forgetBefore(at(2));
    expect(revisionsAfter(cache, 5)).toBe('too old resource version: 5 (6)');
    expect(revisionsAfter(cache, 6)).toEqual([7, 8]);
  });

  it('moves on with the progress of the storage, never back', () => {
    const cache = open();
    cache.replace([], at(5));
    cache.progress(at(8));
    cache.progress(at(7));
    expect(cache.revision).toBe(8);
    expect(revisionsAfter(cache, 5)).toEqual([]);
  });

  it('keeps an object whose attributes cannot be read', () => {
    const cache = new WatchCache<TestPod>({
      clock: new VirtualClock(),
      getAttributes: () => {
        throw new TypeError('no attributes');
      },
      indexedFields: ['spec.nodeName'],
      history: {},
      freeze: false,
      logger: silentLogger,
    });
    cache.replace([cache.listed(stored('a', 3))], at(5));
    expect(cache.store.get('/p/a')?.attributes).toEqual({ labels: {}, fields: {} });
  });

  it('refuses before its first list', () => {
    expect(() => open().positionAfter(at(1))).toThrow("watch cache isn't correctly initialized");
  });

  it('keeps only the bytes of a listed object, and of one that left the history', () => {
    const cache = open({ capacity: 2 });
    const { parsed, parseable } = parser();
    cache.replace([cache.listed(parseable('listed', 3))], at(5));
    const look = (name: string): unknown => cache.store.get(`/p/${name}`)?.stored.object.metadata?.name;
    expect([look('listed'), look('listed')]).toEqual(['listed', 'listed']);
    cache.apply({ type: 'ADDED', stored: parseable('changed', 6) });
    cache.apply(change('ADDED', 'b', 7));
    expect([look('changed'), parsed]).toEqual(['changed', ['listed 3']]);
    cache.apply(change('ADDED', 'c', 8));
    expect([look('changed'), parsed]).toEqual(['changed', ['listed 3', 'changed 6']]);
  });

  it('keeps only the bytes of all objects of a change once 2,000 others have come', () => {
    const cache = open({ capacity: 10_000 });
    const { parsed, parseable } = parser();
    const listed = parseable('listed', 1);
    cache.replace([cache.listed(listed)], at(1));
    const change = (type: 'MODIFIED' | 'DELETED', name: string, revision: number) =>
      cache.apply({ type, stored: parseable(name, revision) });
    const { current } = change('MODIFIED', 'listed', 2);
    const { lastState } = change('DELETED', 'listed', 3);
    const look = () =>
      [listed.object, current?.stored.object, lastState?.object].map((object) => object?.metadata?.name);
    expect(look()).toEqual(['listed', 'listed', 'listed']);
    for (let revision = 4; revision <= 2_001; revision++) change('MODIFIED', 'busy', revision);
    expect([look().length, parsed]).toEqual([3, ['listed 1']]);
    change('MODIFIED', 'busy', 2_002);
    change('MODIFIED', 'busy', 2_003);
    expect([look().length, parsed]).toEqual([3, ['listed 1', 'listed 1', 'listed 2', 'listed 3']]);
    expect(revisionsAfter(cache, 1)).toHaveLength(2_002);
  });
});

/** Returns a maker of objects that can be parsed again, and the names of those that were. */
function parser() {
  const parsed: string[] = [];
  const parseable = (name: string, revision: number): Stored<TestPod> => {
    const made = stored(name, revision);
    made.rememberParser(() => {
      parsed.push(`${name} ${revision}`);
      return stored(name, revision).object;
    });
    return made;
  };
  return { parsed, parseable };
}
