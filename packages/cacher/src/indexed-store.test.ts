// Covers store_test and watch_cache_storage_test of the Go library, without snapshots (past-states.test.ts).
import type { Revision } from '@kapstan/api';
import { Stored } from '@kapstan/storage';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { CacheEntry } from './cache-entry.ts';
import { IndexedStore } from './indexed-store.ts';

function entry(key: string, node = '', bytes = 1): CacheEntry<never> {
  const stored = new Stored<never>(key, 1 as Revision, {} as never);
  stored.storedBytes = bytes;
  return { key, stored, attributes: { labels: {}, fields: { 'spec.nodeName': node } } };
}

const keysOf = (entries: readonly CacheEntry<never>[] | undefined): string[] => (entries ?? []).map(({ key }) => key);
const all = { start: '/', end: '0' };

describe('IndexedStore', () => {
  it('holds one key through put, overwrite and delete, and says what was there', () => {
    const store = new IndexedStore<never>();
    const [first, second] = [entry('/p/a'), entry('/p/a')];
    expect([store.put(first), store.get('/p/a'), store.size]).toEqual([undefined, first, 1]);
    expect([store.put(second), store.get('/p/a'), store.size]).toEqual([first, second, 1]);
    expect([store.delete('/p/a'), store.get('/p/a'), store.size]).toEqual([second, undefined, 0]);
    expect([store.delete('/p/a'), keysOf(store.range(all.start, all.end))]).toEqual([undefined, []]);
  });

  it('follows one key through its index: put, moved, replaced, deleted', () => {
    const store = new IndexedStore<never>(['spec.nodeName']);
    const nodes = (): string[][] => ['n1', 'n2', 'n3'].map((node) => keysOf(store.byField('spec.nodeName', node, all)));
    store.put(entry('/p/a', 'n1'));
    expect(nodes()).toEqual([['/p/a'], [], []]);
    store.put(entry('/p/a', 'n2'));
    expect(nodes()).toEqual([[], ['/p/a'], []]);
    store.replace([entry('/p/a', 'n3')]);
    expect(nodes()).toEqual([[], [], ['/p/a']]);
    store.delete('/p/a');
    expect(nodes()).toEqual([[], [], []]);
  });

  it('lists a prefix in the order of its keys and nothing beside it', () => {
    const store = new IndexedStore<never>();
    for (const key of ['/p/b/2', '/p/a/1', '/p/b/1', '/p/bb/1', '/p/b-/1']) store.put(entry(key));
    expect(keysOf(store.range('/p/b/', '/p/b0'))).toEqual(['/p/b/1', '/p/b/2']);
    expect(keysOf(store.range('/p/', '/p0'))).toEqual(['/p/a/1', '/p/b-/1', '/p/b/1', '/p/b/2', '/p/bb/1']);
    expect(keysOf(store.range('/q/', '/q0'))).toEqual([]);
  });

  it('orders by UTF-8 bytes also where UTF-16 would differ', () => {
    const store = new IndexedStore<never>();
    store.put(entry('/a'));
    store.put(entry('/\u{1F600}'));
    store.put(entry('/\uFFEE'));
    store.put(entry('/é'));
    expect(keysOf(store.range(all.start, all.end))).toEqual(['/a', '/é', '/\uFFEE', '/\u{1F600}']);
    store.replace(['/\u{1F600}', '/\uFFEE'].map((key) => entry(key)));
    expect(keysOf(store.range(all.start, all.end))).toEqual(['/\uFFEE', '/\u{1F600}']);
  });

  it('gives lists that later changes do not touch', () => {
    const store = new IndexedStore<never>();
    for (let i = 0; i < 2_000; i++) store.put(entry(`/p/${String(i).padStart(4, '0')}`));
    const before = store.range('/p/', '/p0');
    store.delete('/p/0000');
    store.put(entry('/p/00005'));
    expect(before).toHaveLength(2_000);
    expect(before[0]?.key).toBe('/p/0000');
  });

  it('finds by an indexed field, follows its changes, and knows no other field', () => {
    const store = new IndexedStore<never>(['spec.nodeName']);
    store.put(entry('/p/b', 'n1'));
    store.put(entry('/p/a', 'n1'));
    store.put(entry('/p/c', 'n2'));
    store.put(entry('/q/a', 'n1'));
    const range = { start: '/p/', end: '/p0' };
    expect(keysOf(store.byField('spec.nodeName', 'n1', range))).toEqual(['/p/a', '/p/b']);
    store.put(entry('/p/a', 'n2'));
    store.delete('/p/b');
    expect(keysOf(store.byField('spec.nodeName', 'n1', range))).toEqual([]);
    expect(keysOf(store.byField('spec.nodeName', 'n2', range))).toEqual(['/p/a', '/p/c']);
    expect(store.byField('metadata.name', 'a', range)).toBeUndefined();
  });

  it('adds up the bytes of what it holds', () => {
    const store = new IndexedStore<never>();
    store.put(entry('/a', '', 10));
    store.put(entry('/b', '', 5));
    store.put(entry('/a', '', 1));
    expect(store.storedBytes).toBe(6);
    store.delete('/b');
    store.delete('/b');
    expect(store.storedBytes).toBe(1);
    store.replace([entry('/c', '', 7)]);
    expect([store.storedBytes, store.size, store.get('/a')]).toEqual([7, 1, undefined]);
  });

  it('agrees with a sorted map in random programs', () => {
    const key = fc.integer({ min: 0, max: 3_000 }).map((n) => `/p/${n}`);
    const step = fc.oneof(
      { weight: 6, arbitrary: fc.record({ type: fc.constant('put' as const), key }) },
      { weight: 3, arbitrary: fc.record({ type: fc.constant('delete' as const), key }) },
    );
    const programs = fc.array(step, { minLength: 1_500, maxLength: 3_000, size: 'max' });
    fc.assert(
      fc.property(programs, key, key, (steps, a, b) => {
        const store = new IndexedStore<never>();
        const model = new Map<string, CacheEntry<never>>();
        for (const each of steps) {
          const next = entry(each.key);
          if (each.type === 'put') expect(store.put(next)).toBe(model.get(each.key));
          else expect(store.delete(each.key)).toBe(model.get(each.key));
          if (each.type === 'put') model.set(each.key, next);
          else model.delete(each.key);
        }
        const [start, end] = a < b ? [a, b] : [b, a];
        const expected = [...model.keys()].filter((k) => k >= start && k < end).sort();
        expect(keysOf(store.range(start, end))).toEqual(expected);
        expect(store.size).toBe(model.size);
        expect(keysOf(store.range('/', '0'))).toEqual([...model.keys()].sort());
      }),
      { numRuns: 30 },
    );
  });
});
