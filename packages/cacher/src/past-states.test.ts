// Covers the store and snapshot suites of the Go library: TestStoreSnapshotter, TestLatestSnapshotLocked,
// TestWatchCacheStorageSnapshots, TestWatchCacheSnapshotConcurrency, TestMatchExactResourceVersionFallback.
import { type Revision, silentLogger } from '@kapstan/api';
import { pod, type TestPod, VirtualClock } from '@kapstan/api/testing';
import { type StorageEvent, Stored } from '@kapstan/storage';
import { podAttributes } from '@kapstan/storage/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { WatchCache } from './watch-cache.ts';

const at = (value: number): Revision => value as Revision;
const all = { start: '/p/', end: '/p0' };

function stored(name: string, revision: number): Stored<TestPod> {
  const object = pod({ name, resourceVersion: String(revision) });
  return new Stored<TestPod>(`/p/${name}`, at(revision), object as Stored<TestPod>['object']);
}

function change(
  type: 'ADDED' | 'MODIFIED' | 'DELETED',
  name: string,
  revision: number,
): StorageEvent<TestPod> & object {
  return { type, stored: stored(name, revision) };
}

function open(capacity = 100): WatchCache<TestPod> {
  return new WatchCache<TestPod>({
    clock: new VirtualClock(),
    getAttributes: podAttributes,
    indexedFields: [],
    history: { minCapacity: capacity, maxCapacity: capacity },
    freeze: false,
    logger: silentLogger,
  });
}

/** Returns the cache's state at a revision, as "a@10". */
function stateAt(cache: WatchCache<TestPod>, revision: number, range = all): string[] | undefined {
  return cache
    .stateAt(at(revision), range)
    ?.map(({ stored: { object, revision: own } }) => `${object.metadata?.name}@${own}`);
}

type Change = Parameters<WatchCache<TestPod>['apply']>[0];
const apply = (cache: WatchCache<TestPod>, ...changes: readonly object[]): void => {
  for (const each of changes) cache.apply(each as Change);
};

describe('the past states of a WatchCache', () => {
  it('returns for every revision the newest state up to it, and none from before the list', () => {
    const cache = open();
    cache.replace([cache.listed(stored('a', 10))], at(10));
    apply(cache, change('MODIFIED', 'a', 20), change('ADDED', 'b', 30), change('DELETED', 'a', 40));
    expect([9, 10, 11, 22, 30, 40].map((revision) => stateAt(cache, revision))).toEqual([
      undefined,
      ['a@10'],
      ['a@10'],
      ['a@20'],
      ['a@20', 'b@30'],
      ['b@30'],
    ]);
    expect([stateAt(cache, 41), cache.knownStates]).toEqual([undefined, { oldest: 10, newest: 40 }]);
    cache.progress(at(100));
    expect(stateAt(cache, 100)).toEqual(['b@30']);
  });

  it('has a state for an empty collection and for one whose objects were all deleted', () => {
    const cache = open();
    cache.replace([], at(5));
    expect(stateAt(cache, 5)).toEqual([]);
    apply(cache, change('ADDED', 'a', 6), change('DELETED', 'a', 7));
    expect([5, 6, 7].map((revision) => stateAt(cache, revision))).toEqual([[], ['a@6'], []]);
  });

  it('returns no state that the history does not reach back to', () => {
    const cache = open(3);
    cache.replace([], at(10));
    apply(cache, ...[11, 12, 13].map((revision) => change('ADDED', `p${revision}`, revision)));
    expect(stateAt(cache, 10)).toEqual([]);
    apply(cache, change('ADDED', 'p14', 14));
    expect([10, 11, 14].map((revision) => stateAt(cache, revision)?.length)).toEqual([undefined, 1, 4]);
  });

  it('returns no state from before a new list, nor from before what was forgotten', () => {
    const cache = open();
    cache.replace([cache.listed(stored('a', 3))], at(5));
    apply(cache, change('ADDED', 'b', 6), change('ADDED', 'c', 8));
    cache.forgetBefore(at(6));
    expect([stateAt(cache, 5), stateAt(cache, 6)]).toEqual([undefined, ['a@3', 'b@6']]);
    cache.replace([cache.listed(stored('c', 8))], at(9));
    expect([stateAt(cache, 8), stateAt(cache, 9)]).toEqual([undefined, ['c@8']]);
  });

  it('returns none while it is inconsistent, and later ones once it is consistent again', () => {
    const cache = open();
    cache.replace([cache.listed(stored('a', 3))], at(5));
    cache.markConsistent(false);
    apply(cache, change('ADDED', 'b', 6));
    expect([stateAt(cache, 5), stateAt(cache, 6), cache.knownStates]).toEqual([undefined, undefined, undefined]);
    cache.markConsistent(true);
    apply(cache, change('DELETED', 'a', 7));
    expect([5, 6, 7].map((revision) => stateAt(cache, revision))).toEqual([undefined, ['a@3', 'b@6'], ['b@6']]);
  });

  it('gives a state that later changes do not touch', () => {
    const cache = open();
    cache.replace([cache.listed(stored('a', 3))], at(5));
    apply(cache, change('ADDED', 'b', 6));
    const before = cache.stateAt(at(5), all);
    apply(cache, change('DELETED', 'a', 7));
    cache.replace([], at(9));
    expect(before?.map((entry) => entry.key)).toEqual(['/p/a']);
  });

  it('agrees with copies kept after each change, in every range', () => {
    const step = fc.record({ name: fc.constantFrom('a', 'b', 'c', 'd', 'é', '\u{1F600}'), isDeleted: fc.boolean() });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), fc.constantFrom('', 'b', 'é'), (steps, from) => {
        const cache = open();
        cache.replace([], at(1));
        const copies = new Map<number, string[] | undefined>([[1, stateAt(cache, 1)]]);
        const live = new Set<string>();
        const range = { start: `/p/${from}`, end: all.end };
        let revision = 1;
        for (const { name, isDeleted } of steps) {
          if (isDeleted && !live.has(name)) continue;
          apply(cache, change(isDeleted ? 'DELETED' : live.has(name) ? 'MODIFIED' : 'ADDED', name, ++revision));
          if (isDeleted) live.delete(name);
          else live.add(name);
          const present = cache.store.range(range.start, range.end);
          // Some revisions are read repeatedly, like those of a list's pages.
          for (const past of [1, 2, revision >> 1])
            if (copies.has(past)) expect(stateAt(cache, past, range)).toEqual(copies.get(past));
          copies.set(
            revision,
            present.map((entry) => `${entry.stored.object.metadata?.name}@${entry.stored.revision}`),
          );
        }
        for (const [past, copy] of copies) expect(stateAt(cache, past, range)).toEqual(copy);
      }),
    );
  });
});
