// Tests leader election with real processes, real time and client-go's timings: one process is paused, one is told to
// end.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { delay, systemClock } from '@kapstan/api';
import { Lease } from '@kapstan/kinds/coordination.k8s.io/v1';
import { ConfigMap } from '@kapstan/kinds/core/v1';
import { type TestCluster, testCluster } from '@kapstan/testing';
import type { Subscription } from 'rxjs';
import { afterEach, beforeEach, expect, it } from 'vitest';

const program = fileURLToPath(new URL('./leader-worker.mjs', import.meta.url));

interface Worker {
  readonly process: ChildProcess;
  readonly text: () => string;
  readonly exited: Promise<number | null>;
}

let cluster: TestCluster;
let folder: string;
let following: Subscription;
const workers = new Set<Worker>();
/** The writers and their times, in the order of the server's revisions. */
let writes: { readonly by: string; readonly atMs: number }[];

beforeEach(async () => {
  cluster = await testCluster({ clock: 'real' });
  folder = await mkdtemp(join(tmpdir(), 'kapstan-leader-'));
  await writeFile(join(folder, 'kubeconfig'), cluster.kubeconfig);
  writes = [];
  for (const name of ['a', 'b', 'c', 'd'])
    await cluster.client.create(ConfigMap, { metadata: { namespace: 'default', name, labels: { work: 'yes' } } });
  following = cluster.client
    .listerWatcher(ConfigMap, { namespace: 'default' })
    .watch({ labelSelector: 'work=yes' })
    .subscribe((event) => {
      const by = event.type === 'BOOKMARK' ? undefined : event.object.data?.by;
      if (by !== undefined) writes.push({ by, atMs: systemClock.monotonicNow() });
    });
});
afterEach(async () => {
  for (const worker of workers) {
    worker.process.kill('SIGKILL');
    await worker.exited;
  }
  workers.clear();
  following.unsubscribe();
  await cluster.close();
  await rm(folder, { recursive: true });
});

function start(identity: string): Worker {
  const child = spawn(process.execPath, [program, join(folder, 'kubeconfig'), identity], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let text = '';
  child.stdout.on('data', (chunk: Buffer) => {
    text += chunk.toString();
  });
  const worker = {
    process: child,
    text: () => text,
    exited: once(child, 'exit').then(([code]) => code as number | null),
  };
  workers.add(worker);
  return worker;
}

async function until(isReached: () => boolean, what: string, withinMs: number): Promise<void> {
  const untilMs = systemClock.monotonicNow() + withinMs;
  while (!isReached()) {
    if (systemClock.monotonicNow() > untilMs) throw new Error(`${what}: not within ${withinMs} ms`);
    await delay(systemClock, 20);
  }
}

/** Starts a process that does not lead. Resolves when it has seen the leader, because its patience counts from then. */
async function startStandby(identity: string): Promise<Worker> {
  const worker = start(identity);
  await until(() => worker.text().includes('New leader elected'), 'it sees the leader', 15_000);
  return worker;
}

const writesOf = (identity: string) => writes.filter(({ by }) => by === identity);
const holder = async () =>
  (await cluster.client.get(Lease, { namespace: 'default', name: 'work' })).spec?.holderIdentity;

it('a leader that is paused until its lease is over writes nothing after it wakes, and ends; meanwhile the other has taken over', async () => {
  const first = start('first');
  await until(() => writesOf('first').length > 20, 'the first works', 15_000);
  const second = await startStandby('second');
  first.process.kill('SIGSTOP');
  const stoppedAtMs = systemClock.monotonicNow();
  await until(() => writesOf('second').length > 0, 'the second takes over', 21_000);
  const takenOverMs = (writesOf('second')[0]?.atMs ?? 0) - stoppedAtMs;
  // The lease of 15 s counts from the last renewal that the second process saw, which may differ from the pause by a
  // retry period.
  expect(takenOverMs).toBeGreaterThan(8000);
  await until(() => writesOf('second').length > 100, 'the second works', 15_000);
  first.process.kill('SIGCONT');
  expect(await first.exited).toBe(1);
  expect(first.text()).toContain('failed: LeadershipLostError');
  const firstOfSecond = writes.findIndex(({ by }) => by === 'second');
  expect(writes.slice(firstOfSecond).filter(({ by }) => by === 'first')).toEqual([]);
  expect(writesOf('first').every(({ atMs }) => atMs < stoppedAtMs + 1000)).toBe(true);
  expect(await holder()).toBe('second');
  second.process.kill('SIGTERM');
  expect(await second.exited).toBe(0);
});

it('a leader that is told to end finishes its work and hands over at once', async () => {
  const first = start('first');
  await until(() => writesOf('first').length > 20, 'the first works', 15_000);
  const second = await startStandby('second');
  first.process.kill('SIGTERM');
  expect(await first.exited).toBe(0);
  expect(first.text()).toContain('ended');
  const endedAtMs = systemClock.monotonicNow();
  await until(() => writesOf('second').length > 0, 'the second takes over', 10_000);
  expect((writesOf('second')[0]?.atMs ?? 0) - endedAtMs, 'a retry period, not a lease').toBeLessThan(6000);
  const firstOfSecond = writes.findIndex(({ by }) => by === 'second');
  expect(writes.slice(firstOfSecond).every(({ by }) => by === 'second')).toBe(true);
  second.process.kill('SIGTERM');
  expect(await second.exited).toBe(0);
  expect(await holder()).toBe('');
});
