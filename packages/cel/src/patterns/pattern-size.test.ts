import { describe, expect, it } from 'vitest';
import { patternSize } from './pattern-size.ts';

describe('patternSize', () => {
  const sizes: readonly (readonly [string, number])[] = [
    ['', 0],
    ['abc', 3],
    ['a{30}', 31],
    ['(ab){0,10}', 30],
    ['x((a{0,30}){0,30})$', 933],
    ['[]a-z]{0,61}b', 62],
    ['[^]({]', 1],
    ['\\Q(((\\E{9}', 13],
    ['\\((', 2],
    ['a))', 1],
    ['a{b}', 4],
    ['\\pL\\PN', 18],
    ['[\\pL_]+', 10],
    ['(?i)[a-z]', 9],
    ['(?i)[\\x{100}-\\x{1E000}]', 409],
    ['(?i)[а-я]', 409],
  ];
  for (const [pattern, size] of sizes) it(`of ${pattern} is ${size}`, () => expect(patternSize(pattern)).toBe(size));

  it('counts the alternatives of a long pattern', () => {
    expect(patternSize(`(${'ab|'.repeat(10_000)}c)`)).toBe(30_002);
  });
});
