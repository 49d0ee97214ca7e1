import { expect, it } from 'vitest';
import { matchingBlocks } from './line-matcher.ts';

const lines = (count: number): readonly string[] => Array.from({ length: count }, (_, index) => `${index}`);
const everyOther = (text: readonly string[]): readonly string[] =>
  text.map((line, index) => (index % 2 === 0 ? `new ${line}` : line));

/** Returns the text, and how many of its lines have been read. */
function counted(text: readonly string[]): { readonly text: readonly string[]; reads(): number } {
  let reads = 0;
  const get = (target: readonly string[], key: string | symbol): unknown => {
    reads += 1;
    return Reflect.get(target, key);
  };
  return { text: new Proxy(text, { get }), reads: () => reads };
}

it('finds each line that stayed in a text of which every other line changed', () => {
  const text = lines(300);
  expect(matchingBlocks(text, everyOther(text))).toHaveLength(150);
});

it('reads a bounded number of lines, whatever the texts', () => {
  const { text, reads } = counted(lines(4_800));
  matchingBlocks(text, everyOther(lines(4_800)));
  expect(reads()).toBeLessThan(150_000);
});

it('matches what is left at its beginning and end once the search took too long', () => {
  const old = lines(4_800);
  const blocks = matchingBlocks(old, [...everyOther(old.slice(0, 4_700)), ...old.slice(4_700)]);
  expect(blocks[0]).toEqual({ a: 1, b: 1, size: 1 });
  expect(blocks.at(-1)).toEqual({ a: 4_699, b: 4_699, size: 101 });
  for (const { a, b } of blocks) expect(a).toBe(b);
  expect(blocks.length).toBeLessThan(100);
});
