// processMetrics: what /metrics shows of the process, under the names that every exporter gives it. Read when it is asked for; what the
// system does not tell is left out. Part of serving.ts.
import { readdir, readFile } from 'node:fs/promises';
import type { Clock } from '@kapstan/api';
import { formatMetrics, type MetricFamily } from '@kapstan/storage';

export function processMetrics(clock: Clock): { metrics(): Promise<string> } {
  const startSeconds = clock.now() / 1000 - process.uptime();
  return {
    metrics: async () => {
      const { user, system } = process.cpuUsage();
      const memory = process.memoryUsage();
      return formatMetrics([
        counter('process_cpu_seconds_total', 'CPU that the process has taken.', (user + system) / 1e6),
        gauge('process_resident_memory_bytes', 'Memory of the process.', memory.rss),
        gauge('process_start_time_seconds', 'When the process began, in seconds since 1970.', startSeconds),
        ...(await fileFamilies()),
      ]);
    },
  };
}

/** None where there is no /proc. */
async function fileFamilies(): Promise<MetricFamily[]> {
  try {
    const [open, limits] = await Promise.all([readdir('/proc/self/fd'), readFile('/proc/self/limits', 'utf8')]);
    const most = Number(/^Max open files +(\d+)/m.exec(limits)?.[1]);
    return [
      gauge('process_open_fds', 'Files and sockets that are open.', open.length),
      ...(Number.isNaN(most) ? [] : [gauge('process_max_fds', 'Most files and sockets at once.', most)]),
    ];
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

type MakeFamily = (name: string, help: string, value: number) => MetricFamily;

const counter: MakeFamily = (name, help, value) => ({ name, help, type: 'counter', samples: [{ labels: {}, value }] });
const gauge: MakeFamily = (name, help, value) => ({ name, help, type: 'gauge', samples: [{ labels: {}, value }] });
