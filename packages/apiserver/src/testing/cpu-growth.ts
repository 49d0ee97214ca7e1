// Measures how the CPU time of some work grows with its size, for tests of cost.

/** Runs of each size; the fastest counts, because a busy machine only adds. */
const runs = 5;

/**
 * Returns the ratio of the CPU times of `work(4n)` and `work(n)`: about 4 for linear cost, 16 for quadratic. `prepare`
 * returns the work and is not measured itself.
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
  for (let run = 0; run < runs; run++) {
    const before = process.cpuUsage();
    work();
    const { user, system } = process.cpuUsage(before);
    best = Math.min(best, user + system);
  }
  return best;
}
