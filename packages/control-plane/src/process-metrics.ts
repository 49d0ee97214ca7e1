// processMetrics: process metrics for /metrics, under the names that exporters share. They are read at each scrape; values that the
// system does not provide are left out. Part of serving.ts.
import { readdir, readFile } from 'node:fs/promises';
import type { Clock } from '@kapstan/api';
import { counterFamily, formatMetrics, gaugeFamily, type MetricFamily, type MetricsText } from '@kapstan/api/internal';

/** Values that the system provides; reading each takes a file descriptor. */
export interface ProcessFacts {
  residentBytes(): number;
  openFiles(): Promise<readonly string[]>;
  limits(): Promise<string>;
}

const ownFacts: ProcessFacts = {
  residentBytes: () => process.memoryUsage.rss(),
  openFiles: () => readdir('/proc/self/fd'),
  limits: () => readFile('/proc/self/limits', 'utf8'),
};

export function processMetrics(clock: Clock, facts: ProcessFacts = ownFacts): MetricsText {
  const startSeconds = clock.now() / 1000 - process.uptime();
  return {
    metrics: async () => {
      const { user, system } = process.cpuUsage();
      const families = await Promise.all([
        counterFamily('process_cpu_seconds_total', 'CPU time used by the process, in seconds.', (user + system) / 1e6),
        told(() =>
          gaugeFamily(
            'process_resident_memory_bytes',
            'Resident memory of the process, in bytes.',
            facts.residentBytes(),
          ),
        ),
        gaugeFamily('process_start_time_seconds', 'Start time of the process, in seconds since 1970.', startSeconds),
        told(async () =>
          gaugeFamily('process_open_fds', 'Number of open file descriptors.', (await facts.openFiles()).length),
        ),
        told(async () => fileLimit(await facts.limits())),
      ]);
      return formatMetrics(families.filter((family) => family !== undefined));
    },
  };
}

function fileLimit(limits: string): MetricFamily | undefined {
  const most = Number(/^Max open files +(\d+)/m.exec(limits)?.[1]);
  return Number.isNaN(most)
    ? undefined
    : gaugeFamily('process_max_fds', 'Maximum number of open file descriptors.', most);
}

/**
 * Returns undefined for a value that the system does not provide, because there is no /proc or no file descriptor is left. The other
 * metrics matter most in exactly that case.
 */
async function told(
  read: () => MetricFamily | undefined | Promise<MetricFamily | undefined>,
): Promise<MetricFamily | undefined> {
  try {
    return await read();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).syscall === undefined) throw error;
    return undefined;
  }
}
