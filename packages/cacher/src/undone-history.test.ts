// Tests the memory of past states: what pages at one revision share, and when it is dropped.
import type { Revision } from '@kapstan/api';
import { beforeEach, describe, expect, it } from 'vitest';
import { type CacheEntry, CacheEvent } from './cache-entry.ts';
import { HistoryRing } from './history-ring.ts';
import { UndoneHistory } from './undone-history.ts';

const at = (value: number): Revision => value as Revision;

describe('UndoneHistory', () => {
  let ring: HistoryRing<never>;
  let undone: UndoneHistory<never>;
  beforeEach(() => {
    ring = new HistoryRing<never>({ minCapacity: 5, maxCapacity: 5 });
    undone = new UndoneHistory<never>(ring);
  });

  /** Records a change of a key that had the revision `was` before; 0 = it did not exist. */
  function change(key: string, revision: number, was = 0): void {
    const previous = was === 0 ? {} : { previous: { key, stored: { revision: was } } as unknown as CacheEntry<never> };
    ring.push(new CacheEvent<never>({ key, revision: at(revision), timeMs: 0, ...previous }));
    undone.trim();
  }

  const since = (revision: number): [string, number | undefined][] =>
    [...undone.since(at(revision))].map(([key, was]) => [key, was?.stored.revision]);

  it('returns for each changed key its state before the first change', () => {
    change('a', 11, 3);
    change('b', 12);
    change('a', 13, 11);
    expect(since(10)).toEqual([
      ['a', 3],
      ['b', undefined],
    ]);
    expect(since(12)).toEqual([['a', 11]]);
    expect(since(13)).toEqual([]);
  });

  it('goes on from what it read before, so that the pages of a list read each change once', () => {
    change('a', 11, 3);
    const first = undone.since(at(10));
    change('a', 12, 11);
    change('b', 13, 4);
    let reads = 0;
    const read = ring.at.bind(ring);
    ring.at = (position) => {
      reads++;
      return read(position);
    };
    const from = ring.firstAfter(at(10));
    const searching = reads;
    reads = 0;
    expect(undone.since(at(10))).toBe(first);
    expect([reads - searching, from, since(10)]).toEqual([
      2,
      0,
      [
        ['a', 3],
        ['b', 4],
      ],
    ]);
  });

  it('I5: keeps four revisions, those used last, and none that the ring has left behind', () => {
    change('a', 11, 3);
    for (const revision of [10, 11, 12, 13, 10, 14]) undone.since(at(revision));
    expect(undone.size).toBe(4);
    for (let revision = 15; revision <= 19; revision++) change('a', revision, revision - 1);
    // Revision 10 needed the change that the ring has dropped; the others begin after it.
    expect(undone.size).toBe(3);
    change('a', 20, 19);
    expect(undone.size).toBe(0);
    ring.clear();
    undone.trim();
    expect(since(20)).toEqual([]);
  });
});
