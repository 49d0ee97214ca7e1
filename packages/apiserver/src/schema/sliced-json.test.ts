import { parseJson, runWhole, stringifyJson } from '@kapstan/api';
import { describe, expect, it } from 'vitest';
import { jsonInSlices } from './sliced-json.ts';

describe('jsonInSlices', () => {
  const many = Array.from({ length: 5_000 }, (_, index) => ({ name: `a${index}`, nothing: undefined, list: [index] }));

  it.each([
    ['scalars', [1, 'é"', null, true, parseJson('12345678901234567890.1')]],
    ['small values', { a: [{ b: {} }], c: [] }],
    ['long lists', { spec: { many, empty: [] }, more: parseJson('[12345678901234567890]') }],
    ['large maps', Object.fromEntries(many.map((item, index) => [`"k${index}`, item]))],
    ['lists of nothing', Array.from({ length: 2_000 }, () => undefined)],
  ])('writes what stringifyJson writes: %s', (_, value) => {
    expect(runWhole(jsonInSlices(value))).toBe(stringifyJson(value));
  });

  it('gives way often', () => {
    const steps = [...jsonInSlices(many)];
    expect(steps.length).toBeGreaterThan(50);
  });
});
