import { expect, it } from 'vitest';
import { internalDiff, jsonDiff } from './json-diff.ts';

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

it('writes the characters that Go escapes as Go does', () => {
  expect(jsonDiff('a', 'b<c')).toContain('+"b\\u003cc"');
});

it('shows internal types', () => {
  const next = { key: 'k', effect: 'NoExecute' };
  expect(internalDiff('core.Toleration', { key: 'k', effect: 'NoSchedule' }, next)).toContain(
    '- "Effect": "NoSchedule",\n+ "Effect": "NoExecute",\n  "TolerationSeconds": null\n',
  );
});

it('shows lines that stayed between changes, and changes that are far apart in hunks of their own', () => {
  const old = Array.from({ length: 20 }, (_, index) => index);
  const near = jsonDiff(old, old.with(4, 104).with(8, 108));
  expect(near.match(/^@@/gm)).toHaveLength(1);
  expect(near).toContain('- 4,\n+ 104,\n  5,\n');
  const far = jsonDiff(old, old.with(2, 102).with(17, 117));
  expect(far).toContain('@@ -1,7 +1,7 @@\n [\n  0,\n  1,\n- 2,\n+ 102,\n');
  expect(far).toContain('@@ -16,7 +16,7 @@\n');
});

it('compares long values by their beginning and end alone', () => {
  const old = Array.from({ length: 6_000 }, (_, index) => index);
  expect(jsonDiff(old, old.with(10, 1).with(20, 2)).match(/^@@/gm)).toHaveLength(1);
  expect(jsonDiff(old, old)).toBe('');
});

it('finds matches in texts that repeat most of their lines', () => {
  const old = Array.from({ length: 300 }, (_, index) => (index % 10 === 0 ? index : 0));
  expect(jsonDiff(old, old.with(100, 7)).match(/^[-+] .*$/gm)).toEqual(['- 100,', '+ 7,']);
});

it('shows a change of several hundred thousand lines', () => {
  const old = Array.from({ length: 300_000 }, (_, index) => index);
  expect(jsonDiff(old, [0]).match(/^-/gm)).toHaveLength(300_000);
});
