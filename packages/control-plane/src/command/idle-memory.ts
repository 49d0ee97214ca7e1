// IdleMemory: lets the garbage collector run once when a server that has had much to do has nothing to do. V8 collects as it
// allocates, so a server that is idle after a burst would keep what the burst left behind (decision 0019). Used by serve.ts.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { type Clock, systemClock } from '@kapstan/api';

export interface ProcessLoad {
  /** CPU that the process has taken, in milliseconds. */
  cpuMs(): number;
  /** Memory of the process that is in RAM, in bytes. */
  residentBytes(): number;
  collectGarbage(): void;
}

export interface IdleMemoryOptions {
  readonly load?: ProcessLoad;
  readonly clock?: Clock;
}

const periodMs = 10_000;
/** An idle server takes about one percent of a core for its leases, probes and metrics. */
const idleShare = 0.05;
/** A collection stops the server for as long as it takes, so there has to be something to gain. */
const worthBytes = 48 * 1_048_576;
/** After it the histories of the caches have let go of a burst: they keep it for 75 s and look every 30 s. */
const historyMs = 120_000;

/** Looks every ten seconds until the returned function is called. */
export function releaseMemoryWhenIdle({ load = ownLoad(), clock = systemClock }: IdleMemoryOptions = {}): () => void {
  let cancel = (): void => undefined;
  let cpuMs = load.cpuMs();
  let sinceMs = clock.monotonicNow();
  // What the process had after the last collection. Pages that the allocator keeps count too, so that it is not tried in vain.
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
      // What the histories let go of later need not show: the allocator may have kept its pages.
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

/** Node offers the collector only to who starts it with a flag. The flag counts for contexts that are made while it is set. */
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
    // Buffers whose owners were collected are freed by the next collection.
    collectGarbage: () => {
      collect ??= garbageCollector();
      collect();
      collect();
    },
  };
}
