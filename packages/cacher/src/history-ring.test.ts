import type { Revision } from '@kapstan/api';
import { Stored } from '@kapstan/storage';
import { describe, expect, it } from 'vitest';
import { CacheEvent } from './cache-entry.ts';
import { HistoryRing, type HistoryRingOptions, maxCapacityFor } from './history-ring.ts';

const fresh = 75_000;

function event(revision: number, timeMs = 0): CacheEvent<never> {
  return new CacheEvent<never>({ key: `/k${revision}`, revision: revision as Revision, timeMs });
}

function revisions(ring: HistoryRing<never>): (number | undefined)[] {
  return Array.from({ length: ring.size }, (_, i) => ring.at(ring.start + i)?.revision);
}

/** Returns a full ring of `capacity` events, `spacing` ms apart. The caller then pushes one more. */
function filled(capacity: number, spacing: number, bounds: HistoryRingOptions = {}): HistoryRing<never> {
  const ring = new HistoryRing<never>({ initialCapacity: capacity, minCapacity: capacity, ...bounds });
  for (let i = 0; i < capacity; i++) ring.push(event(i + 1, i * spacing));
  return ring;
}

describe('HistoryRing', () => {
  it('I5: keeps the newest events and drops the oldest when it may not grow', () => {
    const ring = new HistoryRing<never>({ minCapacity: 3, maxCapacity: 3 });
    for (let revision = 1; revision <= 10; revision++) ring.push(event(revision));
    expect(revisions(ring)).toEqual([8, 9, 10]);
    expect([ring.start, ring.end, ring.hasEvicted]).toEqual([7, 10, true]);
    expect(ring.at(6)).toBeUndefined();
    expect(ring.at(10)).toBeUndefined();
  });

  it.each([
    // TestDynamicCache: capacity, spacing, lower and upper bound → capacity, position of the oldest.
    ['grows while the oldest is fresh', 5, fresh / 6, {}, 10, 0],
    ['stays when the oldest is no longer fresh', 5, fresh / 4, { minCapacity: 2 }, 5, 1],
    ['does not grow beyond its bound', 8, fresh / 9, { minCapacity: 4, maxCapacity: 8 }, 8, 1],
    ['grows from 8 to 16', 8, fresh / 9, {}, 16, 0],
    ['stays at 8', 8, fresh / 8, { minCapacity: 4 }, 8, 1],
  ])('%s', (_name, capacity, spacing, bounds, expected, start) => {
    const ring = filled(capacity, spacing, bounds);
    ring.push(event(capacity + 1, capacity * spacing));
    expect([ring.capacity, ring.start]).toEqual([expected, start]);
  });

  it.each([
    ['to half', 5, fresh + 1_000, 2, 2, 3],
    ['to its lower bound', 5, fresh + 1_000, 3, 3, 2],
    ['to 4', 8, fresh / 2 + 1_000, 4, 4, 4],
  ])('shrinks %s when its events are old', (_name, capacity, spacing, minCapacity, expected, start) => {
    const ring = filled(capacity, spacing, { minCapacity });
    ring.push(event(capacity + 1, capacity * spacing));
    expect(ring.capacity).toBe(expected);
    // The event itself took one more slot.
    expect(ring.start).toBe(start + 1);
  });

  /** Returns an update of an object of this many bytes. */
  function update(revision: number, size: number, timeMs = 0): CacheEvent<never> {
    const key = `/k${revision}`;
    const stored = Object.assign(new Stored<never>(key, revision as Revision, {} as never), { storedBytes: size });
    const previous = { key, stored, attributes: { labels: {}, fields: {} } };
    return new CacheEvent<never>({ key, revision: revision as Revision, timeMs, previous });
  }

  it('I5: keeps no more bytes of past states than it may, and the newest event in any case', () => {
    const ring = new HistoryRing<never>({ maxBytes: 100 });
    for (let revision = 1; revision <= 10; revision++) ring.push(update(revision, 40));
    expect([revisions(ring), ring.bytes, ring.hasEvicted]).toEqual([[9, 10], 80, true]);
    ring.push(update(11, 1_000));
    expect([revisions(ring), ring.bytes]).toEqual([[11], 1_000]);
    ring.push(update(12, 1));
    expect([revisions(ring), ring.bytes]).toEqual([[12], 1]);
    ring.clear();
    expect([ring.size, ring.bytes]).toEqual([0, 0]);
  });

  it('keeps events that live watchers have yet to get even above its bytes, and says that it is overfull', () => {
    const ring = new HistoryRing<never>({ maxBytes: 100 });
    ring.unread = () => 2;
    for (let revision = 1; revision <= 5; revision++) ring.push(update(revision, 40));
    expect([revisions(ring), ring.isOverfull]).toEqual([[3, 4, 5], true]);
    ring.unread = () => ring.end;
    ring.push(update(6, 40));
    expect([revisions(ring), ring.isOverfull]).toEqual([[5, 6], false]);
  });

  it('drops events older than its window when it is trimmed, except for a small rest', () => {
    const ring = new HistoryRing<never>();
    for (let revision = 1; revision <= 10; revision++) ring.push(update(revision, 1_000_000, revision * 1_000));
    ring.trim(fresh + 1_000);
    expect(ring.size).toBe(10);
    ring.trim(fresh + 5_500);
    expect(revisions(ring)).toEqual([6, 7, 8, 9, 10]);
    ring.trim(2 * fresh);
    expect([revisions(ring), ring.bytes]).toEqual([[10], 1_000_000]);
  });

  it('reports every event that it drops, one at a time and when it shrinks', () => {
    const dropped: number[] = [];
    const options = { initialCapacity: 8, minCapacity: 2 };
    const ring = new HistoryRing<never>(options, ({ revision }) => dropped.push(revision));
    for (let revision = 1; revision <= 8; revision++) ring.push(event(revision));
    expect(dropped).toEqual([]);
    ring.push(event(9, 2 * fresh));
    expect([ring.capacity, dropped]).toEqual([4, [1, 2, 3, 4, 5]]);
    ring.clear();
    expect(dropped).toHaveLength(5);
  });

  it('finds the first event after a revision', () => {
    const ring = new HistoryRing<never>({ minCapacity: 5, maxCapacity: 5 });
    for (const revision of [5, 6, 8, 9, 12]) ring.push(event(revision));
    const at = (revision: number) => ring.at(ring.firstAfter(revision as Revision))?.revision;
    expect([0, 4, 5, 6, 7, 8, 11, 12, 99].map(at)).toEqual([5, 5, 6, 8, 8, 9, 12, undefined, undefined]);
  });

  it('keeps positions valid when it grows and when it is emptied', () => {
    const ring = new HistoryRing<never>({ minCapacity: 2 });
    ring.push(event(1));
    ring.push(event(2));
    ring.push(event(3));
    expect([ring.capacity, ring.at(0)?.revision, ring.at(2)?.revision]).toEqual([4, 1, 3]);
    ring.clear();
    expect([ring.size, ring.start, ring.end, ring.hasEvicted, ring.oldest]).toEqual([0, 3, 3, false, undefined]);
    ring.push(event(9));
    expect(ring.at(3)?.revision).toBe(9);
  });

  it.each([
    ['its own', 250, 250],
    ['the least', 5, 100],
    ['the most', 500_000, 400],
  ])('begins with %s room that its bounds allow, and stays within them', (_what, initialCapacity, expected) => {
    const ring = new HistoryRing<never>({ initialCapacity, maxCapacity: 400 });
    expect(ring.capacity).toBe(expected);
    for (let revision = 1; revision <= 1_000; revision++) ring.push(event(revision));
    expect([ring.capacity, ring.size, ring.resizes.decreases]).toEqual([400, 400, 0]);
    expect(revisions(ring).at(0)).toBe(601);
  });

  it('refuses a least capacity above the largest', () => {
    expect(() => new HistoryRing<never>({ minCapacity: 102_401 })).toThrow(
      new TypeError('minHistory (102401) must not be above the 102400 events that a history may grow to'),
    );
  });

  it('has an upper bound that grows with the window', () => {
    expect([0, 75_000, 75_001, 150_000, 150_001, 300_000].map(maxCapacityFor)).toEqual([
      102_400, 102_400, 204_800, 204_800, 409_600, 409_600,
    ]);
    expect(maxCapacityFor(Number.MAX_SAFE_INTEGER)).toBe(102_400 * 2 ** 14);
  });
});
