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
