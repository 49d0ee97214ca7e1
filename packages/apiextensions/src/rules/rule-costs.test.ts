import { collectFieldErrors } from '@kapstan/apiserver/internal';
import { describe, expect, it } from 'vitest';
import { costText, innerCardinality, multiply, RuleCosts } from './rule-costs.ts';

const largest = 2n ** 64n - 1n;

describe('the costs of a schema', () => {
  it('name the four dearest rules when all together cost too much, each of which costs a hundredth at least', () => {
    const errors = collectFieldErrors((root) => {
      const costs = new RuleCosts();
      const all = [30n, 10n, 50n, 40n, 20n].map((millions) => millions * 1_000_000n);
      for (const [index, cost] of [...all, 999_999n].entries()) costs.add(root.index(index), cost);
      costs.validate(root.child('schema'));
    });
    expect(errors.map(({ field }) => field)).toEqual(['[2]', '[3]', '[0]', '[4]', 'schema']);
    expect(errors.at(-1)?.detail).toContain('exceeds budget by factor of 1.5x');
  });

  it('are refused above the limit, and not at it', () => {
    const errors = collectFieldErrors((root) => {
      const costs = new RuleCosts();
      costs.add(root, 100_000_000n);
      costs.validate(root);
    });
    expect(errors).toEqual([]);
  });

  it('stay at the largest number', () => {
    collectFieldErrors((root) => {
      const costs = new RuleCosts();
      costs.add(root, largest);
      costs.add(root, 5n);
      expect(costs.total).toBe(largest);
    });
    expect(multiply(largest, 2n)).toBe(largest);
    expect(multiply(largest, 0n)).toBe(0n);
  });
});

describe('the text of a cost', () => {
  it.each([
    ['1.040000x', 10_400_000n],
    ['1.5x', 15_000_000n],
    ['100.0x', 1_000_000_000n],
    ['more than 100x', 1_000_000_001n],
  ])('says by how much: %s', (factor, cost) => {
    expect(costText('estimated rule cost', cost, 10_000_000n)).toMatch(
      new RegExp(`^estimated rule cost exceeds budget by factor of ${factor} \\(try simplifying the rule`),
    );
  });
});

describe('how often a place may be there', () => {
  it('is the product of the bounds of lists and maps above, if all have one', () => {
    const map = { type: 'object', additionalProperties: { type: 'string' }, maxProperties: 3 };
    expect(innerCardinality(1n, { type: 'object' })).toBe(1n);
    expect(innerCardinality(2n, { type: 'array', maxItems: 5 })).toBe(10n);
    expect(innerCardinality(2n, map)).toBe(6n);
    expect(innerCardinality(2n, { type: 'array' })).toBeUndefined();
    expect(innerCardinality(undefined, map)).toBeUndefined();
  });
});
