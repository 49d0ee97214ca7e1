import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { conformanceTests, runConformance } from './testing/conformance.ts';

interface LeftOut {
  readonly test: string;
  readonly reason: string;
}

const file = new URL('../fixtures/conformance-left-out.json', import.meta.url);
const leftOut = JSON.parse(readFileSync(file, 'utf8')) as LeftOut[];
const names = new Set(leftOut.map(({ test }) => test));
const tests = conformanceTests();

describe('the conformance tests of the CEL project', () => {
  it.each(tests.filter(({ path }) => !names.has(path)).map((test) => [test.path, test] as const))('%s', (_, test) => {
    expect(runConformance(test)).toBeUndefined();
  });

  it('pass in more than 1,500 cases', () => {
    expect(tests.length - names.size).toBeGreaterThan(1_500);
  });

  it('are left out only where they exist, once, with a reason', () => {
    const known = new Set(tests.map(({ path }) => path));
    expect(leftOut.filter(({ test }) => !known.has(test))).toEqual([]);
    expect(names.size).toBe(leftOut.length);
    expect(leftOut.every(({ reason }) => reason.length > 10)).toBe(true);
  });
});
