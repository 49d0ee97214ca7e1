import fc from 'fast-check';
import { expect, it } from 'vitest';
import { commonPrefix, compareKeys, isInRange, keyAfter, rangeOf, rangeOfOne } from './key-range.ts';

const text = fc.string({ unit: 'binary' }).filter((value) => !/\p{Surrogate}/u.test(value));
const edges = fc
  .array(fc.constantFrom('a', '\ud7ff', '\ue000', '\uffff', '\u{10000}', '\u{10ffff}'))
  .map((parts) => parts.join(''));
const key = fc.oneof(text, edges);

it('compares keys as their UTF-8 bytes compare', () => {
  const property = fc.property(key, key, (a, b) => {
    expect(Math.sign(compareKeys(a, b))).toBe(Buffer.compare(Buffer.from(a), Buffer.from(b)));
  });
  fc.assert(property, { numRuns: 2_000 });
});

it('takes a range to include its start and to exclude its end', () => {
  const range = { start: '/a', end: '/b' };
  expect(['/', '/a', '/a/x', '/a\u{10ffff}', '/b', '/c'].filter((each) => isInRange(range, each))).toEqual([
    '/a',
    '/a/x',
    '/a\u{10ffff}',
  ]);
});

it('knows the common prefix of all keys of a range', () => {
  expect(commonPrefix(rangeOf('/registry/pods/'))).toBe('/registry/pods/');
  expect(commonPrefix(rangeOf('/registry/pods/', '/registry/pods/a/x'))).toBe('/registry/pods/');
  expect(commonPrefix({ start: '/registry/pods/', end: '/registry/pods00' })).toBe('/registry/pods');
  expect(commonPrefix({ start: '/a', end: '/a\u0000' })).toBe('/a');
  const property = fc.property(key, key, key, (a, b, c) => {
    const [start = '', middle = '', end = ''] = [a, b, c].sort(compareKeys);
    if (isInRange({ start, end }, middle)) expect(middle.startsWith(commonPrefix({ start, end }))).toBe(true);
  });
  fc.assert(property, { numRuns: 2_000 });
});

it('takes a prefix to cover what is below it, and one key to cover itself', () => {
  expect(rangeOf('/a/')).toEqual({ start: '/a/', end: '/a0' });
  expect(rangeOf('/a/', '/a/b')).toEqual({ start: '/a/b', end: '/a0' });
  const candidates = ['/a', '/a.', '/a/', '/a/\u0000', '/a/b', '/a/\u{10ffff}', '/a0', '/aa'];
  const below = candidates.filter((each) => isInRange(rangeOf('/a/'), each));
  expect(below).toEqual(['/a/', '/a/\u0000', '/a/b', '/a/\u{10ffff}']);
  expect(candidates.filter((each) => isInRange(rangeOfOne('/a/'), each))).toEqual(['/a/']);
  const property = fc.property(key, key, (a, b) => {
    expect(compareKeys(a, keyAfter(a))).toBeLessThan(0);
    expect(compareKeys(a, b) < 0).toBe(compareKeys(keyAfter(a), b) <= 0);
  });
  fc.assert(property, { numRuns: 500 });
});
