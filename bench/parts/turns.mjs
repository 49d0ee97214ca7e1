// Measures how long some work keeps the event loop from its next turn. Used by stalls.mjs and probe.mjs.
import { existsSync, openSync, readSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';

/** Waits, because the monitor uses its own timer. */
const settledTimers = () => new Promise((resolve) => setTimeout(resolve, 5));

const schedule = existsSync('/proc/self/schedstat') ? openSync('/proc/self/schedstat', 'r') : undefined;
const threadStat = Buffer.alloc(64);
/** Returns the CPU time of the main thread in milliseconds, as Linux reports it; NaN elsewhere. */
export function threadCpuMs() {
  if (schedule === undefined) return Number.NaN;
  const length = readSync(schedule, threadStat, 0, threadStat.length, 0);
  return Number.parseInt(threadStat.toString('latin1', 0, length), 10) / 1e6;
}

/**
 * Returns how long the work took, the longest stall of the event loop, and the turn with most CPU. All in milliseconds.
 */
export async function measureTurns(work) {
  globalThis.gc?.();
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  await settledTimers();
  let isDone = false;
  let turnMs = 0;
  let last = threadCpuMs();
  const tick = () => {
    const now = threadCpuMs();
    turnMs = Math.max(turnMs, now - last);
    last = now;
    if (!isDone) setImmediate(tick);
  };
  setImmediate(tick);
  const begin = performance.now();
  await work();
  const tookMs = performance.now() - begin;
  isDone = true;
  await settledTimers();
  delay.disable();
  return { stallMs: delay.max / 1e6, turnMs, tookMs };
}
