// Measures how the CPU time of some work grows with its size, for tests of cost.
import { existsSync, readFileSync } from 'node:fs';

/** The first number is the time that this thread ran, in nanoseconds. */
const threadTimes = '/proc/thread-self/schedstat';
const hasThreadTimes = existsSync(threadTimes);

/** Runs of each size; the fastest counts, because a busy machine only adds. */
const runs = 3;
const leastMicroseconds = 20_000;

/**
 * Returns the ratio of the CPU times of `work(4n)` and `work(n)`: about 4 for linear cost, 16 for quadratic. `prepare`
 * returns the work; its own time is not measured.
 */
export function cpuGrowth(prepare: (n: number) => () => unknown, n: number): number {
  const [small, large] = [prepare(n), prepare(4 * n)];
  // V8 compiles functions that run often; without a warm-up the first size measured would pay for that.
  for (let run = 0; run < runs; run++) {
    small();
    large();
  }
  return fastest(large) / fastest(small);
}

function fastest(work: () => unknown): number {
  let best = Number.POSITIVE_INFINITY;
  for (let run = 0; run < runs; run++) best = Math.min(best, microsecondsOf(work));
  return best;
}

/** The kernel counts a thread's time in ticks of a few milliseconds, so short work is done many times. */
function microsecondsOf(work: () => unknown): number {
  const before = cpuMicroseconds();
  for (let times = 1; ; times++) {
    work();
    const taken = cpuMicroseconds() - before;
    if (taken >= leastMicroseconds) return taken / times;
  }
}

/**
 * Returns the CPU time of this thread; where that is unknown, of the process, including the threads that collect garbage.
 */
export function cpuMicroseconds(): number {
  if (hasThreadTimes) return Number.parseInt(readFileSync(threadTimes, 'utf8'), 10) / 1_000;
  const { user, system } = process.cpuUsage();
  return user + system;
}
