// processMetrics: what /metrics shows of the process, under the names that every exporter gives it. Read when it is asked for; what the
// system does not tell is left out. Part of serving.ts.
import { readdir, readFile } from 'node:fs/promises';
import type { Clock } from '@kapstan/api';
import { formatMetrics, type MetricFamily } from '@kapstan/storage';

/** What is asked of the system, which needs a file descriptor for each. */
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

export function processMetrics(clock: Clock, facts: ProcessFacts = ownFacts): { metrics(): Promise<string> } {
  const startSeconds = clock.now() / 1000 - process.uptime();
  return {
    metrics: async () => {
      const { user, system } = process.cpuUsage();
      const families = await Promise.all([
        counter('process_cpu_seconds_total', 'CPU that the process has taken.', (user + system) / 1e6),
        told(() => gauge('process_resident_memory_bytes', 'Memory of the process.', facts.residentBytes())),
        gauge('process_start_time_seconds', 'When the process began, in seconds since 1970.', startSeconds),
        told(async () =>
          gauge('process_open_fds', 'Files and sockets that are open.', (await facts.openFiles()).length),
        ),
        told(async () => fileLimit(await facts.limits())),
      ]);
      return formatMetrics(families.filter((family) => family !== undefined));
    },
  };
}

function fileLimit(limits: string): MetricFamily | undefined {
  const most = Number(/^Max open files +(\d+)/m.exec(limits)?.[1]);
  return Number.isNaN(most) ? undefined : gauge('process_max_fds', 'Most files and sockets at once.', most);
}

/** Undefined for what the system does not tell: there is no /proc, or no file descriptor is left, when the rest is asked for most. */
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

type MakeFamily = (name: string, help: string, value: number) => MetricFamily;

const counter: MakeFamily = (name, help, value) => ({ name, help, type: 'counter', samples: [{ labels: {}, value }] });
const gauge: MakeFamily = (name, help, value) => ({ name, help, type: 'gauge', samples: [{ labels: {}, value }] });
