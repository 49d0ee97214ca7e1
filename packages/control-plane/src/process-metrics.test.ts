import { systemClock } from '@kapstan/api';
import { expect, it } from 'vitest';
import { type ProcessFacts, processMetrics } from './process-metrics.ts';

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

const noneLeft = (): never => {
  throw Object.assign(new Error('too many open files'), { code: 'EMFILE', syscall: 'open' });
};
const facts: ProcessFacts = {
  residentBytes: () => 5,
  openFiles: async () => ['0', '1'],
  limits: async () => 'Max open files            7                    8                    files',
};
const namesOf = (text: string): string[] => [...text.matchAll(/^process_(\w+)/gm)].map(([, name = '']) => name);

it.each<[string, Partial<ProcessFacts>, readonly string[]]>([
  ['nothing', {}, ['resident_memory_bytes', 'open_fds', 'max_fds']],
  ['the memory', { residentBytes: noneLeft }, ['open_fds', 'max_fds']],
  ['the files', { openFiles: async () => noneLeft() }, ['resident_memory_bytes', 'max_fds']],
  ['the limits', { limits: async () => noneLeft() }, ['resident_memory_bytes', 'open_fds']],
  ['the limit of files', { limits: async () => '' }, ['resident_memory_bytes', 'open_fds']],
])('what the system does not tell is left out, and nothing else: %s', async (_what, changes, shown) => {
  const names = namesOf(await processMetrics(systemClock, { ...facts, ...changes }).metrics());
  expect(names.sort()).toEqual(['cpu_seconds_total', 'start_time_seconds', ...shown].sort());
});
