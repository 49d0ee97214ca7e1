// The SDK over HTTP, while objects are created, changed and deleted in rounds and a watch's connection breaks again and
// again: heap, open files and timers stay flat, and at the end nothing keeps the process alive.
// KAPSTAN_SDK_CHURN_OBJECTS sets the objects per round.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startServeProcess } from '../kapstan/serve-process.ts';

const program = fileURLToPath(new URL('./sdk-churn-worker.mjs', import.meta.url));
const objects = Number(process.env.KAPSTAN_SDK_CHURN_OBJECTS ?? 2500);
const rounds = 4;
const reconnects = 200;
const mebibyte = 1_048_576;

interface Reading {
  readonly name: 'start' | 'churn' | 'stopped' | 'reconnect' | 'end';
  readonly heap: number;
  readonly external: number;
  /** Number of open files. */
  readonly open: number;
  /** Number of handles, requests and timers. */
  readonly resources: number;
  readonly warnings: readonly string[];
}

const readings: Reading[] = [];
let ended: number | null = null;

beforeAll(async () => {
  const serve = await startServeProcess({
    flags: ['--control-loops=none', '--disable-admission-plugins=ServiceAccount'],
  });
  const args = ['--expose-gc', program, serve.url, serve.adminToken, ...[objects, rounds, reconnects].map(String)];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  createInterface({ input: child.stdout }).on('line', (line) => readings.push(JSON.parse(line)));
  // The process must end by itself, which a remaining handle or timer would prevent.
  [ended] = await once(child, 'exit', { signal: AbortSignal.timeout(230_000) }).finally(() => child.kill('SIGKILL'));
  await serve.close();
}, 240_000);

afterAll(() => {
  const text = readings.map(
    ({ name, heap, open, resources }) => `${name} ${(heap / mebibyte).toFixed(1)} ${open}/${resources}`,
  );
  console.log(`heap in MiB, open files and resources: ${text.join(', ')}`);
});

const of = (name: Reading['name']): readonly Reading[] => readings.filter((reading) => reading.name === name);

describe('the SDK under churn', () => {
  it('ends by itself when everything is closed, without a timer or a handle that keeps it', () => {
    expect([ended, readings.at(-1)?.name]).toEqual([0, 'end']);
    expect(of('stopped')[0]?.resources).toBeLessThanOrEqual(of('start')[0]?.resources ?? 0);
    expect(of('end')[0]?.resources).toBeLessThanOrEqual(of('start')[0]?.resources ?? 0);
  });

  it.each(['churn', 'reconnect'] as const)('keeps its heap flat: %s', (name) => {
    const [first, ...rest] = of(name);
    expect(rest).toHaveLength(3);
    // 7,500 objects came and went in the meantime, so this allows less than 70 bytes for each.
    expect(Math.max(...rest.map(({ heap }) => heap))).toBeLessThan((first?.heap ?? 0) + mebibyte / 2);
  });

  it.each(['churn', 'reconnect'] as const)('opens no more files and handles, round after round: %s', (name) => {
    const [first, ...rest] = of(name);
    const most = (member: 'open' | 'resources') => Math.max(...rest.map((reading) => reading[member]));
    // Up to two connections for each of the 64 + 8 concurrent calls, as one that ends is not free yet when the next
    // begins.
    const atMost = name === 'churn' ? (of('start')[0]?.open ?? 0) + 2 * 72 + 10 : (first?.open ?? 0) + 2;
    expect(most('open')).toBeLessThanOrEqual(atMost);
    expect(most('resources')).toBeLessThanOrEqual((first?.resources ?? 0) + 4);
  });

  it('closes what it opened', () => {
    const [start, stopped, end] = [of('start')[0]?.open ?? 0, of('stopped')[0]?.open ?? 0, of('end')[0]?.open ?? 0];
    expect([stopped - start, end - start].every((more) => more <= 1)).toBe(true);
  });

  it('does not add listeners again and again', () => {
    expect(readings.at(-1)?.warnings).toEqual([]);
  });
});
