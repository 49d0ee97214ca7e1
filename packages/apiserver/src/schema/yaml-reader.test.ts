import { describe, expect, it } from 'vitest';
import { readYaml } from './yaml-reader.ts';

describe('an alias', () => {
  it.each([
    ['a: &x 1\nb: *x', { a: 1, b: 1 }],
    ['a: &x 1\nb: *x\nc: &x {d: 2}\ne: [*x, &x 3, *x]', { a: 1, b: 1, c: { d: 2 }, e: [{ d: 2 }, 3, 3] }],
    ['&x a: 1\nb: *x', { a: 1, b: 'a' }],
    ['a: &x {b: 1}\nc:\n  <<: *x\n  d: 2', { a: { b: 1 }, c: { b: 1, d: 2 } }],
    ['a: &x [&y 1, *y]\nb: *x', { a: [1, 1], b: [1, 1] }],
  ])('stands for the last node before it that has its anchor: %j', (text, value) => {
    expect(readYaml(text).value).toEqual(value);
  });

  it.each(['a: *x\nb: &x 1', 'a: *x'])('of an anchor that is not there yet is refused: %j', (text) => {
    expect(() => readYaml(text)).toThrow('yaml: ');
  });

  it('costs no look at all other nodes', () => {
    // Else there are 9,000 times 29,000 looks: minutes.
    const list = `[${'1,'.repeat(20_000)}]`;
    const { value } = readYaml(`a: ${list}\nb: &x 1\nc: [${'*x,'.repeat(9_000)}]`);
    expect((value as { c: unknown[] }).c).toHaveLength(9_000);
  }, 30_000);
});
