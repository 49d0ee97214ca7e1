// Checks the walk of one event in ARCHITECTURE.md, and those in docs/walks.md, against the sources: each function that they
// name calls the next one, as the TypeScript compiler resolves calls.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { WalkSources } from './walk-sources.ts';
import { type Hop, readWalk } from './walk-table.ts';

const root = new URL('../..', import.meta.url).pathname;
const hops = readWalk(readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8'), 'The walk of one event');
const others = ['The walk of an update', 'The walk on etcd'].map((heading) => ({
  heading,
  hops: readWalk(readFileSync(join(root, 'docs/walks.md'), 'utf8'), heading),
}));
const sources = new WalkSources(root, [
  ...new Set([...hops, ...others.flatMap((other) => other.hops)].map(({ file }) => file)),
]);

/** Returns the hops that may come before one: the walk forks at step 7 and joins again at step 9. */
function callersOf(hop: Hop): readonly Hop[] {
  const before = hops[hops.indexOf(hop) - 1];
  if (before === undefined) return [];
  const lastOf = (step: string): Hop[] => hops.filter((other) => other.step === step).slice(-1);
  if (hop.step === '8b' && before.step === '8a') return lastOf('7');
  return before.step === '8b' && hop.step === '9' ? [...lastOf('8a'), before] : [before];
}

/**
 * Returns false for links that no call shows: a wrapper of the port through which it is called, and the function that
 * fills a queue.
 */
function isNoticed(hop: Hop, next: Hop): boolean {
  const isWrapper = hop.through !== '' && hop.through === next.through;
  return !isWrapper && !/^(?:wire:|awaits )/.test(next.through);
}

const calls = hops.flatMap((hop) => callersOf(hop).map((caller) => ({ caller, hop })));
const asides = hops.flatMap((hop) => hop.asides.map((chain) => ({ hop, chain })));

describe('the walk of one event in ARCHITECTURE.md', () => {
  it('has thirteen steps and all their hops', () => {
    const steps = ['1', '2', '3', '4', '5', '6', '7', '8a', '8b', '9', '10', '11', '12', '13'];
    expect([...new Set(hops.map(({ step }) => step))]).toEqual(steps);
    expect(hops.length).toBeGreaterThan(60);
    expect(hops.filter(({ through }) => through.startsWith('wire:'))).toHaveLength(1);
  });

  it.each(hops.map((hop) => [hop.name, hop.file]))('names %s, which is in %s', (name, file) => {
    expect(sources.find({ name, file })).toBeDefined();
  });

  it.each(calls.map(({ caller, hop }) => [caller.name, hop.name, caller, hop] as const))(
    'goes from %s to %s, by a call',
    (_from, _to, caller, hop) => {
      expect(sources.problemOf(caller, hop)).toBeUndefined();
    },
  );

  it.each(asides.map(({ hop, chain }) => [hop.name, chain.join(' → '), hop, chain] as const))(
    'lets %s call %s',
    (_from, _to, hop, chain) => {
      expect(sources.problemOfAside(hop, chain)).toBeUndefined();
    },
  );

  it('notices a call that is in a function that is handed on', () => {
    const handedOn = hops.filter(({ isHandedOn }) => isHandedOn);
    expect(handedOn.length).toBeGreaterThan(0);
    for (const hop of handedOn) {
      const [caller] = callersOf(hop);
      if (caller === undefined) continue;
      expect(sources.problemOf(caller, { ...hop, isHandedOn: false }), hop.name).toBe('there is no such call');
    }
  });

  it('notices each hop that is left out', () => {
    const inner = calls.filter(({ hop }) => callersOf(hop).length === 1 && !hop.through.startsWith('wire:'));
    const unnoticed = inner.flatMap(({ caller, hop }) => {
      const next = calls.find((call) => call.caller === hop);
      if (next === undefined || !isNoticed(hop, next.hop)) return [];
      return sources.problemOf(caller, next.hop, 'any') === undefined ? [`${caller.name} → ${next.hop.name}`] : [];
    });
    expect(unnoticed).toEqual([]);
  });
});

describe.each(others)('$heading in docs/walks.md', (other) => {
  it('has its hops', () => {
    expect(other.hops.length).toBeGreaterThan(9);
    expect(other.hops.filter((hop) => sources.find(hop) === undefined)).toEqual([]);
  });

  it('goes from each to the next by a call', () => {
    const problems = other.hops.slice(1).flatMap((hop, index) => {
      const caller = other.hops[index] as Hop;
      const problem = sources.problemOf(caller, hop);
      return problem === undefined ? [] : [`${caller.name} → ${hop.name}: ${problem}`];
    });
    expect(problems).toEqual([]);
  });

  it('lets each call what returns on the way', () => {
    const asides = other.hops.flatMap((hop) => hop.asides.map((chain) => ({ hop, chain })));
    const problems = asides.flatMap(({ hop, chain }) => sources.problemOfAside(hop, chain) ?? []);
    expect(problems).toEqual([]);
  });

  it('meets the first walk wherever it says "as there"', () => {
    const inside = other.hops.filter(({ through }) => through === 'as there');
    expect(inside.filter(({ name }) => !hops.some((hop) => hop.name === name))).toEqual([]);
  });
});
