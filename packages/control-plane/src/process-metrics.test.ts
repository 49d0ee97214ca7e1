import { systemClock } from '@kapstan/api';
import { expect, it } from 'vitest';
import { processMetrics } from './process-metrics.ts';

it('the process is shown with its CPU, its memory, its files and its age', async () => {
  const text = await processMetrics(systemClock).metrics();
  const shown = (name: string): number => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]);
  const { user, system } = process.cpuUsage();
  expect(shown('process_cpu_seconds_total')).toBeGreaterThan(0);
  expect(shown('process_cpu_seconds_total')).toBeLessThanOrEqual((user + system) / 1e6);
  expect(shown('process_resident_memory_bytes')).toBeGreaterThan(1e6);
  const startSeconds = systemClock.now() / 1000 - process.uptime();
  expect(Math.abs(shown('process_start_time_seconds') - startSeconds)).toBeLessThan(60);
  if (process.platform !== 'linux') return;
  expect(shown('process_open_fds')).toBeGreaterThan(2);
  expect(shown('process_max_fds')).toBeGreaterThanOrEqual(shown('process_open_fds'));
});
