// Tests that the defaults of a large pod are set in slices, and equal those of a small one.
import { deepCopy } from '@kapstan/api';
import type { SlicedWork } from '@kapstan/api/internal';
import type { Pod } from '@kapstan/kinds/core/v1';
import { describe, expect, it } from 'vitest';
import { totalsInSlices, totalsOf } from './container-totals.ts';
import { podDefaultsInSlices, setPodDefaults } from './pod-spec-defaults.ts';

const count = 2_000;
const many = <T>(of: (index: number) => T): T[] => Array.from({ length: count }, (_, index) => of(index));
const ofAmounts: Pod = {
  spec: {
    containers: many((i) => ({ name: `c${i}`, resources: { limits: { cpu: '1m', memory: `${i}Ki` } } })),
    initContainers: many((i) => ({ name: `i${i}`, resources: { requests: { cpu: `${i}m` } } })),
    resources: { limits: { cpu: '4' } },
  },
};
const large: Readonly<Record<string, Pod>> = {
  containers: { spec: { containers: many((i) => ({ name: `c${i}`, ports: [{ containerPort: i + 1 }] })) } },
  volumes: { spec: { containers: [], volumes: many((i) => ({ name: `v${i}`, secret: {} })) } },
  amounts: ofAmounts,
};

/** Runs the work to its end and returns its result with the number of times it yielded. */
function runCounted<T>(work: SlicedWork<T>): readonly [result: T, yields: number] {
  let yields = 0;
  let step = work.next();
  for (; step.done !== true; step = work.next()) yields++;
  return [step.value, yields];
}

describe('a pod of many', () => {
  it.each(Object.entries(large))('%s gets its defaults in slices', (_what, pod) => {
    const [whole, inSlices] = [deepCopy(pod), deepCopy(pod)];
    setPodDefaults(whole);
    const [, yields] = runCounted(podDefaultsInSlices(inSlices));
    expect(yields).toBeGreaterThan(0);
    expect(inSlices).toEqual(whole);
  });

  it('amounts is added up in slices', () => {
    const spec = ofAmounts.spec as NonNullable<Pod['spec']>;
    const [totals, yields] = runCounted(totalsInSlices(spec, 'limits'));
    expect(yields).toBeGreaterThan(10);
    expect(String(totals.get('cpu'))).toBe('2');
    expect(totals).toEqual(totalsOf(spec, 'limits'));
  });
});
