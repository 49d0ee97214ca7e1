import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { KeyRing } from './key-ring.ts';

function takeAll<K>(ring: KeyRing<K>): (K | undefined)[] {
  return Array.from({ length: ring.size }, () => ring.take());
}

describe('a ring of keys', () => {
  it('gives each key once, in the order in which they came first', () => {
    const ring = new KeyRing<string>();
    const added = ['b', 'a', 'b', 'c', 'a'].map((key) => ring.add(key));
    expect(added).toEqual([true, true, false, true, false]);
    expect([ring.size, ring.first]).toEqual([3, 'b']);
    expect(takeAll(ring)).toEqual(['b', 'a', 'c']);
    expect([ring.size, ring.first, ring.take()]).toEqual([0, undefined, undefined]);
  });

  it('takes a key again that left, as the last one', () => {
    const ring = new KeyRing<string>();
    for (const key of ['a', 'b']) ring.add(key);
    ring.take();
    expect([ring.add('a'), ring.add('b')]).toEqual([true, false]);
    expect(takeAll(ring)).toEqual(['b', 'a']);
  });

  it('compares as === does: numbers and texts differ, 0 and -0 do not', () => {
    const ring = new KeyRing<string | number>();
    expect([1, '1', 1.5, 0, -0, -1, 2 ** 40, Infinity].map((key) => ring.add(key))).toEqual([
      ...[true, true, true, true, false],
      ...[true, true, true],
    ]);
    expect(takeAll(ring)).toEqual([1, '1', 1.5, 0, -1, 2 ** 40, Infinity]);
  });

  it.each([0, 2 ** 31 - 100])('behaves like an array that is searched, from number %i on', (firstNumber) => {
    // There are few keys, so that many repeat, but more than the smallest table holds, so that it grows and shrinks.
    const step = fc.oneof(
      { weight: 8, arbitrary: fc.integer({ min: 0, max: 400 }).map((key) => ({ add: `key-${key}` })) },
      { weight: 1, arbitrary: fc.integer({ min: 1, max: 8 }).map((take) => ({ take })) },
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 600, size: 'max' }), (steps) => {
        const ring = new KeyRing<string>(firstNumber);
        const model = new Set<string>();
        // Faults are collected, because an expectation per step would take most of the time.
        const wrong: unknown[] = [];
        for (const one of steps) {
          if ('add' in one) {
            if (ring.add(one.add) === model.has(one.add)) wrong.push(one);
            model.add(one.add);
          } else {
            for (const key of [...model].slice(0, one.take)) {
              if (ring.take() !== key) wrong.push(one);
              model.delete(key);
            }
          }
          if (ring.size !== model.size || ring.first !== model.values().next().value) wrong.push(one);
        }
        expect([wrong, takeAll(ring)]).toEqual([[], [...model]]);
      }),
      { numRuns: 100 },
    );
  });

  it('numbers its keys anew before their numbers leave 32 bits, also when the same few come and go', () => {
    const ring = new KeyRing<string>(2 ** 31 - 100);
    for (let round = 0; round < 300; round++) {
      expect([ring.add(`key-${round % 10}`), ring.add(`key-${round % 10}`)]).toEqual([true, false]);
      expect([ring.size, ring.take()]).toEqual([1, `key-${round % 10}`]);
    }
  });

  it('holds 100,000 keys while others come and go, and goes on when it was empty', () => {
    const ring = new KeyRing<string>();
    for (let round = 0; round < 2; round++) {
      for (let index = 0; index < 100_000; index++) ring.add(`${round}/${index}`);
      expect(ring.size).toBe(100_000);
      for (let index = 0; index < 100_000; index++) {
        ring.add(`${round}/more/${index}`);
        if (ring.take() !== `${round}/${index}`) throw new Error(`lost its order at ${index}`);
      }
      expect(ring.size).toBe(100_000);
      while (ring.size > 0) ring.take();
      expect(ring.first).toBeUndefined();
    }
  });
});
