// IdleMemory runs the garbage collector once when a server becomes idle after much work. V8 collects only while it allocates, so an idle
// server would keep the garbage of a burst (decision 0019). Used by serve.ts.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { type Clock, systemClock } from '@kapstan/api';

export interface ProcessLoad {
  /** CPU time used by the process, in milliseconds. */
  cpuMs(): number;
  /** Resident memory of the process, in bytes. */
  residentBytes(): number;
  collectGarbage(): void;
}

export interface IdleMemoryOptions {
  readonly load?: ProcessLoad;
  readonly clock?: Clock;
}

const periodMs = 10_000;
/** Share of one core below which the server counts as idle; leases, probes and metrics alone take about one percent. */
const idleShare = 0.05;
/** Minimum memory to gain, because a collection stops the server while it runs. */
const worthBytes = 48 * 1_048_576;
/** Time after which the histories of the caches have dropped a burst: they keep it for 75 s and check every 30 s. */
const historyMs = 120_000;

/** Checks every ten seconds until the returned function is called. */
export function releaseMemoryWhenIdle({ load = ownLoad(), clock = systemClock }: IdleMemoryOptions = {}): () => void {
  let cancel = (): void => undefined;
  let cpuMs = load.cpuMs();
  let sinceMs = clock.monotonicNow();
  // Memory after the last collection. It includes pages that the allocator keeps, so that no collection is run in vain.
  let settledBytes = load.residentBytes();
  let secondDueMs = Number.POSITIVE_INFINITY;
  const look = (): void => {
    const [nowCpuMs, nowMs] = [load.cpuMs(), clock.monotonicNow()];
    const isIdle = nowCpuMs - cpuMs < (nowMs - sinceMs) * idleShare;
    const resident = load.residentBytes();
    settledBytes = Math.min(settledBytes, resident);
    const isSecondDue = nowMs >= secondDueMs;
    if (isIdle && (isSecondDue || resident - settledBytes > worthBytes)) {
      load.collectGarbage();
      settledBytes = load.residentBytes();
      // Memory that the histories drop later may not show in `resident`, because the allocator may keep its pages.
      secondDueMs = isSecondDue ? Number.POSITIVE_INFINITY : nowMs + historyMs;
    }
    [cpuMs, sinceMs] = [load.cpuMs(), nowMs];
    arm();
  };
  const arm = (): void => {
    cancel = clock.setBackgroundTimer(look, periodMs);
  };
  arm();
  return () => cancel();
}

/** Returns the collector, which Node offers only when started with a flag. The flag applies to contexts created while it is set. */
function garbageCollector(): () => void {
  setFlagsFromString('--expose-gc');
  try {
    return runInNewContext('gc') as () => void;
  } finally {
    setFlagsFromString('--no-expose-gc');
  }
}

export function ownLoad(): ProcessLoad {
  let collect: (() => void) | undefined;
  return {
    cpuMs: () => {
      const { user, system } = process.cpuUsage();
      return (user + system) / 1000;
    },
    residentBytes: () => process.memoryUsage.rss(),
    // The second collection frees the buffers whose owners the first one collected.
    collectGarbage: () => {
      collect ??= garbageCollector();
      collect();
      collect();
    },
  };
}
