// Measures the turns of the event loop while some work runs, for tests of long work.
import { onNextTurn } from '@kapstan/api/internal';
import { cpuMicroseconds } from './cpu-growth.ts';

/**
 * Resolves to the CPU time of the longest turn, in milliseconds. CPU and not wall clock, because a busy machine would count as
 * a long turn.
 */
export async function longestTurnMs(work: () => Promise<unknown>): Promise<number> {
  let longest = 0;
  let last = cpuMicroseconds();
  let isOver = false;
  const look = (): void => {
    const now = cpuMicroseconds();
    longest = Math.max(longest, now - last);
    last = now;
    if (!isOver) onNextTurn(look);
  };
  onNextTurn(look);
  try {
    await work();
  } finally {
    isOver = true;
  }
  look();
  return longest / 1000;
}
