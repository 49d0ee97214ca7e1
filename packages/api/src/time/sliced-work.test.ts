import { describe, expect, it } from 'vitest';
import { copyInSlices } from '../json/json.ts';
import { copyAtPace, SlicePace } from '../json/sliced-walks.ts';
import {
  eachInSlices,
  fitsOneSlice,
  namesInSlices,
  rememberNames,
  rememberSize,
  runWhole,
  type SlicedWork,
} from './sliced-work.ts';

function steps(work: SlicedWork<unknown>): number {
  let count = 0;
  while (work.next().done !== true) count++;
  return count;
}

describe('sliced work', () => {
  it('is done at once by runWhole', () => {
    const seen: number[] = [];
    runWhole(eachInSlices([5, 6, 7], (item, index) => seen.push(item * 10 + index), 2));
    expect(seen).toEqual([50, 61, 72]);
  });

  it('throws what the work throws', () => {
    const failing = eachInSlices([1], () => {
      throw new RangeError('no');
    });
    expect(() => runWhole(failing)).toThrow(RangeError);
  });

  it('yields after so many items, and never for few', () => {
    const items = Array.from({ length: 1000 }, (_, index) => index);
    expect(steps(eachInSlices(items, () => undefined, 100))).toBe(10);
    expect(steps(eachInSlices(items.slice(0, 99), () => undefined, 100))).toBe(0);
  });
});

describe('fitsOneSlice', () => {
  it.each([
    ['a text', 'x', true],
    ['null', null, true],
    ['500 items', Array(500).fill(1), true],
    ['512 items', Array(512).fill(1), false],
    ['few items with many members', [Object.fromEntries(Array.from({ length: 600 }, (_, i) => [`k${i}`, i]))], false],
    ['100 objects of three members', Array(100).fill({ a: 1, b: 2, c: 3 }), true],
    ['200 objects of three members', Array(200).fill({ a: 1, b: 2, c: 3 }), false],
  ])('says of %s: %#', (_, value, fits) => {
    expect(fitsOneSlice(value)).toBe(fits);
  });

  it('looks at a few nodes of a large value only', () => {
    let looks = 0;
    const ownKeys = () => {
      looks++;
      return [];
    };
    const item = new Proxy({}, { ownKeys });
    fitsOneSlice({ a: Array(400).fill(item), b: Array(400).fill(item) });
    expect(looks).toBeLessThan(513);
  });

  it('lists the names of a large map once, whoever asks, and never when its size is known', () => {
    let lists = 0;
    const members = Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`k${index}`, index]));
    const ownKeys = (map: object) => {
      lists++;
      return Reflect.ownKeys(map);
    };
    const map = new Proxy(members, { ownKeys });
    expect([map, { map }, { data: { map } }, map].map(fitsOneSlice)).toEqual([false, false, false, false]);
    expect(lists).toBe(1);
    const known = new Proxy(members, { ownKeys });
    rememberSize(known, 1000);
    expect(fitsOneSlice({ known })).toBe(false);
    expect(lists).toBe(1);
  });

  it('lists the names of a large map twice at most when a tenth of its members fill a slice', () => {
    let lists = 0;
    const member = Object.fromEntries(Array.from({ length: 10 }, (_, index) => [`m${index}`, index]));
    const members = Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`k${index}`, member]));
    const ownKeys = (map: object) => {
      lists++;
      return Reflect.ownKeys(map);
    };
    const map = new Proxy(members, { ownKeys });
    expect([map, { map }, { data: { map } }, map].map(fitsOneSlice)).toEqual([false, false, false, false]);
    expect(lists).toBe(2);
  });

  it('looks at a map that was said to be small', () => {
    const map = { a: 1 };
    rememberSize(map, 1);
    expect(fitsOneSlice(map)).toBe(true);
  });
});

describe('namesInSlices', () => {
  const mapOf = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, 1]));

  it('makes a long listing a step of its own', () => {
    const map = mapOf(20_000);
    rememberSize(map, 20_000);
    const work = namesInSlices(map);
    expect(work.next().done).toBe(false);
    expect(work.next().done).toBe(false);
    const last = work.next();
    expect(last.done === true && last.value.length).toBe(20_000);
  });

  it('lists few names at once', () => {
    expect(namesInSlices(mapOf(3)).next()).toEqual({ done: true, value: ['k0', 'k1', 'k2'] });
  });

  /** Counts how often the engine lists the names of a map. */
  const counted = (count: number) => {
    const lists = { count: 0 };
    const ownKeys = (map: object) => {
      lists.count++;
      return Reflect.ownKeys(map);
    };
    return { map: new Proxy(mapOf(count), { ownKeys }) as Record<string, number>, lists };
  };

  it('looks up kept names in slices, without those that were removed', () => {
    const { map, lists } = counted(20_000);
    rememberNames(map, Object.keys(map));
    delete map.k7;
    const work = namesInSlices(map);
    let steps = 1;
    let step = work.next();
    for (; step.done !== true; step = work.next()) steps++;
    expect([steps, step.value.length, step.value.includes('k7'), lists.count]).toEqual([5, 19_999, false, 1]);
    expect(step.value).toEqual(Object.keys(map));
  });

  it.each([
    ['copyInSlices', (map: object) => copyInSlices(map)],
    ['copyAtPace', (map: object) => copyAtPace(map, new SlicePace())],
  ])('uses kept names for a copy by %s', (_name, copyOf) => {
    const { map, lists } = counted(20_000);
    rememberNames(map, Object.keys(map));
    const copy = runWhole<object>(copyOf(map));
    expect(lists.count).toBe(1);
    expect(copy).toEqual(mapOf(20_000));
    const names = namesInSlices(copy);
    let steps = 1;
    while (names.next().done !== true) steps++;
    expect(steps).toBe(5);
  });
});
