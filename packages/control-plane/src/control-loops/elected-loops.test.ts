import { type ResourceClient, silentLogger } from '@kapstan/api';
import { VirtualClock } from '@kapstan/api/testing';
import { Lease } from '@kapstan/kinds/coordination.k8s.io/v1';
import { ConfigMap, Namespace } from '@kapstan/kinds/core/v1';
import { MemoryEngine } from '@kapstan/storage';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { openResources } from '../resources.ts';
import { electionSection } from '../server-inspector/loops-inspection.ts';
import { singleEngine } from '../testing/single-engine.ts';
import type { ControlLoop, ControlLoopContext } from './control-loop.ts';
import { ElectedLoops, type ElectedLoopsOptions } from './elected-loops.ts';

let clock: VirtualClock;
let engine: MemoryEngine;
let closers: (() => Promise<void>)[];

beforeEach(async () => {
  clock = new VirtualClock();
  engine = new MemoryEngine({ clock });
  closers = [() => engine.close()];
});
afterEach(async () => {
  for (const close of closers.reverse()) await settled(close());
});

/** Waits for `work` while virtual time moves on. */
async function settled<T>(work: Promise<T>): Promise<T> {
  let isOver = false;
  const end = (): void => {
    isOver = true;
  };
  work.then(end, end);
  while (!isOver) await clock.advance(10);
  return work;
}

const until = (holds: () => boolean | Promise<boolean>): Promise<void> =>
  vi.waitFor(async () => {
    await clock.advance(100);
    expect(await holds()).toBe(true);
  }, 5000);

interface Run {
  readonly context: ControlLoopContext;
  readonly signal: AbortSignal;
}

/** Starts a server whose only loop is the test's. */
async function server(options: Partial<ElectedLoopsOptions> = {}) {
  const resources = await settled(openResources(singleEngine(engine), { clock, logger: silentLogger }));
  closers.push(() => resources.close());
  const { client, catalog, access, quotas } = resources;
  for (const name of ['default', 'kube-system']) {
    await client.create(Namespace, { metadata: { name } }).catch(() => undefined);
  }
  const runs: Run[] = [];
  const loop: ControlLoop = async (context, signal) => {
    runs.push({ context, signal });
    context.onSynced();
    await new Promise<void>((end) => signal.addEventListener('abort', () => end(), { once: true }));
  };
  const secretTokens = access.serviceAccountTokens;
  const settings = { caCert: 'PEM', namespaceGraceMs: 500, logger: silentLogger };
  const ports = { client, catalog, secretTokens, quotas, clock, ...settings };
  const loops = new ElectedLoops({
    ...ports,
    names: ['namespace-controller'],
    loops: { 'namespace-controller': loop },
    ...options,
  });
  closers.push(() => loops.close());
  return { loops, client, runs };
}

const readiness = async ({ loops }: { readonly loops: ElectedLoops }): Promise<readonly (string | undefined)[]> =>
  Promise.all(loops.healthChecks.map(async ({ check }) => (await check())?.message));
const holderOf = async (client: ResourceClient): Promise<string | undefined> =>
  (await client.get(Lease, { namespace: 'kube-system', name: 'kapstan-control-loops' })).spec?.holderIdentity;

describe('control loops of several servers on one store', () => {
  it('run in one of them, and in the next when that one stops', async () => {
    const [one, two] = [await server(), await server()];
    one.loops.start();
    await settled(one.loops.whenReady());
    two.loops.start();
    await settled(two.loops.whenReady());
    await clock.advance(60_000);
    expect([one.runs.length, two.runs.length]).toEqual([1, 0]);
    const holder = await holderOf(two.client);
    await settled(one.loops.close());
    expect(one.runs[0]?.signal.aborted).toBe(true);
    await clock.advance(5_000);
    await until(() => two.runs.length === 1);
    expect(await holderOf(two.client)).not.toBe(holder);
  });

  it('end where the Lease cannot be renewed, write nothing any more, and run again once it is regained', async () => {
    const [one, two] = [await server(), await server()];
    one.loops.start();
    await settled(one.loops.whenReady());
    two.loops.start();
    const broken = vi.spyOn(one.client, 'update').mockRejectedValue(new Error('cut off'));
    const reads = vi.spyOn(one.client, 'get').mockRejectedValue(new Error('cut off'));
    const [first] = one.runs;
    await clock.advance(10_000);
    expect(first?.signal.aborted).toBe(true);
    expect(two.runs).toHaveLength(0);
    const late = first?.context.client.create(ConfigMap, { metadata: { namespace: 'default', name: 'late' } });
    await expect(late).rejects.toThrow('this server is not the leader; its control loops may not write');
    await clock.advance(12_000);
    await until(() => two.runs.length === 1);
    broken.mockRestore();
    reads.mockRestore();
    await clock.advance(10_000);
    expect(one.runs).toHaveLength(1);
    await settled(two.loops.close());
    await clock.advance(5_000);
    await until(() => one.runs.length === 2);
    expect(one.runs[1]?.context.informers).not.toBe(first?.context.informers);
    expect(one.runs[1]?.signal.aborted).toBe(false);
    const { client } = one.runs[1]?.context ?? {};
    await client?.create(ConfigMap, { metadata: { namespace: 'default', name: 'again' } });
  });

  it('are healthy in a server that waits for its turn, and counted where they run', async () => {
    const fails: ControlLoop = () => Promise.reject(new Error('boom'));
    const broken = { 'namespace-controller': fails };
    const [one, two] = [await server({ loops: broken }), await server({ loops: broken })];
    one.loops.start();
    await until(async () => (await readiness(one))[0] === 'boom');
    two.loops.start();
    await settled(two.loops.whenReady());
    expect(await readiness(two)).toEqual([undefined, undefined]);
    const [leading, waiting] = [await one.loops.metrics.metrics(), await two.loops.metrics.metrics()];
    expect(leading).toContain('leader_election_master_status{name="kapstan-control-loops"} 1\n');
    expect(leading).toMatch(/kapstan_control_loop_restarts_total\{name="namespace-controller"\} [0-9]/);
    expect(waiting).toContain('leader_election_master_status{name="kapstan-control-loops"} 0\n');
    expect(waiting).toContain('running_managed_controllers{name="namespace-controller",manager="kapstan"} 0\n');
  });

  it('show the election in every server, and the loops only in the one that leads', async () => {
    const [one, two] = [await server(), await server()];
    one.loops.start();
    await settled(one.loops.whenReady());
    two.loops.start();
    await settled(two.loops.whenReady());
    const holder = await holderOf(two.client);
    const shown = ({ loops }: typeof one) => {
      const { inspected } = loops;
      const election = inspected.election as NonNullable<typeof inspected.election>;
      const section = electionSection(election, { nowMs: clock.monotonicNow(), wall: (ms) => ms });
      return { loops: inspected.loops.length, ...section };
    };
    await clock.advance(60_000);
    const lease = 'kube-system/kapstan-control-loops';
    expect(shown(one)).toMatchObject({ loops: 1, lease, identity: holder, leader: holder, isLeader: true });
    expect(shown(two)).toMatchObject({ loops: 0, lease, leader: holder, isLeader: false });
    const { renewedAt = 0 } = shown(one);
    expect(clock.monotonicNow() - renewedAt).toBeLessThan(15_000);
    await settled(one.loops.close());
    expect(shown(one)).toMatchObject({ loops: 0, isLeader: false });
  });

  it('count as running in the server that runs them alone', async () => {
    const { loops } = await server();
    const line = 'running_managed_controllers{name="namespace-controller",manager="kapstan"}';
    expect(await loops.metrics.metrics()).toContain(`${line} 0\n`);
    loops.start();
    await settled(loops.whenReady());
    expect(await loops.metrics.metrics()).toContain(`${line} 1\n`);
    await settled(loops.close());
    expect(await loops.metrics.metrics()).toContain(`${line} 0\n`);
  });

  it('fail to become ready when nobody gets the Lease for a minute', async () => {
    const one = await server();
    vi.spyOn(one.client, 'get').mockRejectedValue(new Error('cut off'));
    one.loops.start();
    const outcome = expect(one.loops.whenReady()).rejects.toThrow(
      'no server acquired the lease "kapstan-control-loops" of the control loops within 60 s',
    );
    await clock.advance(60_000);
    await outcome;
  });

  it('need times that fit together', async () => {
    const times = { leaseDurationMs: 5_000, renewDeadlineMs: 10_000 };
    await expect(server({ times })).rejects.toThrow(
      'leaseDurationMs (5000) must be greater than renewDeadlineMs (10000)',
    );
  });
});
