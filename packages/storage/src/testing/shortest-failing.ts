// shortestFailing removes steps from a failing program as long as it still fails, so that a person can read the rest.
// Part of engine-programs.ts. fast-check's own shrinking stops at the minimum number of steps with which programs are
// made.
import { systemClock } from '@kapstan/api';

/** Limits on tries and time, because slow engines take a second or more for one program. */
const mostTries = 300;
const mostMs = 20_000;

/**
 * Returns the program with as few failing steps as were found. Removes halves first, then quarters, down to single
 * steps.
 */
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
