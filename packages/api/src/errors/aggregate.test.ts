import { expect, it } from 'vitest';
import { aggregateTexts } from './aggregate.ts';

it.each<[string[], string]>([
  [[], ''],
  [['a'], 'a'],
  [['a', 'a'], 'a'],
  [['b', 'a', 'b'], '[b, a]'],
])('%j is shown as %s', (texts, expected) => {
  expect(aggregateTexts(texts)).toBe(expected);
});

it('errors beyond a hundred are counted', () => {
  const texts = Array.from({ length: 102 }, (_, at) => `e${at}`);
  expect(aggregateTexts(texts).slice(-28)).toBe('e98, e99, and 2 more errors]');
  expect(aggregateTexts(texts.slice(1)).slice(-28)).toBe('e99, e100, and 1 more error]');
});
