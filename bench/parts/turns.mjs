// Measures how long some work keeps the event loop from its next turn. Used by stalls.mjs and probe.mjs.
import { existsSync, openSync, readdirSync, readFileSync, readSync } from 'node:fs';
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

/** Returns the CPU time of each other thread of the process in milliseconds, by its id; empty where this is not Linux. */
export function otherThreadsCpuMs() {
  if (schedule === undefined) return new Map();
  const tasks = readdirSync('/proc/self/task').filter((id) => Number(id) !== process.pid);
  return new Map(tasks.map((id) => [id, cpuOfTask(id)]));
}

function cpuOfTask(id) {
  try {
    return Number.parseInt(readFileSync(`/proc/self/task/${id}/schedstat`, 'latin1'), 10) / 1e6;
  } catch {
    return 0; // The thread has ended meanwhile.
  }
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
