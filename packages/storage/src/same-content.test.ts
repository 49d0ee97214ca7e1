import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { surelyDiffer } from './same-content.ts';

describe('surelyDiffer', () => {
  it.each([
    { a: { data: { n: '1' } }, b: { data: { n: '2' } } },
    { a: { items: [1, { on: true }] }, b: { items: [1, { on: false }] } },
    { a: { n: 1 }, b: { n: 1.5 } },
  ])('tells a leaf that is another: $a, $b', ({ a, b }) => {
    expect(surelyDiffer(a, b)).toBe(true);
  });

  it.each([
    { why: 'members in another order', a: { x: 1, y: 2 }, b: { y: 2, x: 1 } },
    { why: 'a member that JSON leaves out', a: { x: 1, y: undefined }, b: { x: 1 } },
    { why: 'zeros of both signs', a: { x: 0 }, b: { x: -0 } },
    { why: 'numbers that JSON writes as null', a: { x: Number.NaN }, b: { x: Number.POSITIVE_INFINITY } },
    { why: 'a value with a form of its own', a: { x: new Date(0) }, b: { x: '1970-01-01T00:00:00.000Z' } },
  ])('leaves to the encodings: $why', ({ a, b }) => {
    expect(surelyDiffer(a, b)).toBe(false);
  });

  it('never tells two values apart whose JSON is the same', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (a, b) => {
        if (surelyDiffer(a, b)) expect(JSON.stringify(a)).not.toBe(JSON.stringify(b));
        expect(surelyDiffer(a, JSON.parse(JSON.stringify(a)))).toBe(false);
      }),
    );
  });
});
