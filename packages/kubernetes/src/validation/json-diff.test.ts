import { expect, it } from 'vitest';
import { jsonDiff } from './json-diff.ts';

it('shows what changed, with three lines around it', () => {
  const old = { a: 1, b: 2, c: 3, d: 4, e: 5, f: 6, g: 7, h: 8 };
  expect(jsonDiff(old, { ...old, e: 9 })).toBe(
    '@@ -3,7 +3,7 @@\n  "b": 2,\n  "c": 3,\n  "d": 4,\n- "e": 5,\n+ "e": 9,\n  "f": 6,\n  "g": 7,\n  "h": 8\n',
  );
});

it('shows nothing when nothing changed', () => {
  expect(jsonDiff({ a: [1, 2] }, { a: [1, 2] })).toBe('');
});

it('shows added and removed lines', () => {
  expect(jsonDiff([1], [1, 2])).toContain('+ 2\n');
  expect(jsonDiff(undefined, { a: 1 })).toContain('-null\n');
});

it('takes no order of keys for a change, at any depth', () => {
  const old = { a: 1, b: { c: 1, d: [{ e: 1, f: 2 }] } };
  expect(jsonDiff(old, { b: { d: [{ f: 2, e: 1 }], c: 1 }, a: 1 })).toBe('');
  expect(jsonDiff(old, { b: { d: [{ f: 3, e: 1 }], c: 1 }, a: 1 }).match(/^[-+] /gm)).toEqual(['- ', '+ ']);
});
