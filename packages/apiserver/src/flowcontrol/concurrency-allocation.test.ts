import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { allocate } from './concurrency-allocation.ts';

type Recorded = readonly [
  sum: number,
  items: readonly (readonly [target: number, lowerBound: number, upperBound: number])[],
  parts: readonly number[] | null,
  fairFraction: number,
];

// Answers of computeConcurrencyAllocation of k8s.io/apiserver 0.36.3 to random problems.
const recorded = JSON.parse(
  readFileSync(new URL('../../fixtures/seat-allocations.json', import.meta.url), 'utf8'),
) as readonly Recorded[];

describe('the division of seats', () => {
  it('answers recorded problems as Kubernetes does', () => {
    expect(recorded.length).toBeGreaterThan(100);
    for (const [sum, items, parts] of recorded) {
      const answer = allocate(
        sum,
        items.map(([target, lowerBound, upperBound]) => ({ target, lowerBound, upperBound })),
      );
      const shown = answer?.parts.map((part) => Number(part.toFixed(5))) ?? null;
      expect(shown, JSON.stringify([sum, items])).toEqual(parts?.map((part) => Number(part.toFixed(5))) ?? null);
    }
  });

  it('gives everybody the same fraction of what they could use where no bound matters', () => {
    const items = [10, 20, 30].map((target) => ({ target, lowerBound: 0, upperBound: 100 }));
    expect(allocate(30, items)).toEqual({ parts: [5, 10, 15], fairFraction: 0.5 });
  });

  it('refuses a target below its lower bound', () => {
    expect(allocate(5, [{ target: 1, lowerBound: 2, upperBound: 9 }])).toBeUndefined();
  });
});
