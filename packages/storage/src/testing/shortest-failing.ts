// shortestFailing: takes steps out of a failing program for as long as it fails, so that a person can read what is left. Part of
// engine-programs.ts. fast-check's own shrinking keeps the fewest steps that programs are made with.
import { systemClock } from '@kapstan/api';

/** Programs to try and time for that: slow engines take a second and more for one. */
const mostTries = 300;
const mostMs = 20_000;

/** The program, if it fails, with as few steps as were found. Steps are taken out in halves, quarters, …, one by one. */
export async function shortestFailing<Step>(
  program: readonly Step[],
  fails: (candidate: readonly Step[]) => Promise<boolean>,
): Promise<readonly Step[]> {
  const endMs = systemClock.monotonicNow() + mostMs;
  let shortest = program;
  let tries = 0;
  for (let size = Math.ceil(program.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let start = 0; start < shortest.length; ) {
      if (tries++ === mostTries || systemClock.monotonicNow() > endMs) return shortest;
      const candidate = [...shortest.slice(0, start), ...shortest.slice(start + size)];
      if (await fails(candidate)) shortest = candidate;
      else start += size;
    }
  }
  return shortest;
}
