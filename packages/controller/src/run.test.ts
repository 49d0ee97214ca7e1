import process from 'node:process';
import {
  deepCopy,
  delay,
  type KubernetesObject,
  type Resource,
  type ResourceClient,
  type WriteOptions,
} from '@kapstan/api';
import { notFound } from '@kapstan/api/errors';
import {
  configMap,
  FakeListerWatcher,
  settle,
  type TestConfigMap,
  testConfigMaps,
  VirtualClock,
} from '@kapstan/api/testing';
import type { Lease } from '@kapstan/kinds/coordination.k8s.io/v1';
import { describe, expect, it } from 'vitest';
import { controller } from './builder/controller-builder.ts';
import { LeadershipLostError } from './leader-election/leader-elector.ts';
import { Manager } from './manager/manager.ts';
import { run } from './run.ts';

/** One kind to watch, and one Lease that can be made unreachable. */
function fake() {
  const source = new FakeListerWatcher<TestConfigMap>();
  const patches: string[] = [];
  const state: { lease: Lease | undefined; isCutOff: boolean; version: number } = {
    lease: undefined,
    isCutOff: false,
    version: 0,
  };
  const write = async (_token: Resource, lease: Lease): Promise<Lease> => {
    if (state.isCutOff) throw new Error('connection refused');
    state.lease = { ...lease, metadata: { ...lease.metadata, resourceVersion: String(++state.version) } };
    return deepCopy(state.lease) as Lease;
  };
  const client = {
    listerWatcher: () => source,
    get: async () => {
      if (state.isCutOff) throw new Error('connection refused');
      if (state.lease === undefined) throw notFound({ group: '', resource: 'leases' }, 'x');
      return deepCopy(state.lease);
    },
    create: write,
    update: write,
    patch: async (...[, { name }, , options]: Parameters<ResourceClient['patch']>) => {
      options?.signal?.throwIfAborted();
      patches.push(name);
      return configMap({ name });
    },
  } as unknown as ResourceClient;
  return { client, source, patches, state };
}

describe('run', () => {
  it('ends when its signal aborts, without a word to the process', async () => {
    const { client, source } = fake();
    const stop = new AbortController();
    const seen: unknown[] = [];
    const listeners = process.listenerCount('SIGTERM');
    const running = run(
      controller(testConfigMaps).reconcile(async ({ metadata }) => void seen.push(metadata?.name)),
      { client, signal: stop.signal },
    );
    source.add(configMap({ name: 'a' }));
    await settle();
    expect(process.listenerCount('SIGTERM')).toBe(listeners);
    stop.abort();
    await running;
    expect(seen).toEqual(['a']);
    expect(source.openWatches).toBe(0);
  });

  it('ends on SIGTERM without a signal of its own, and leaves no listener', async () => {
    const { client } = fake();
    const before = ['SIGTERM', 'SIGINT'].map((name) => process.listenerCount(name));
    const running = run(
      controller(testConfigMaps).reconcile(async () => undefined),
      { client },
    );
    await settle();
    process.emit('SIGTERM', 'SIGTERM');
    await running;
    expect(['SIGTERM', 'SIGINT'].map((name) => process.listenerCount(name))).toEqual(before);
  });

  it('rejects without a usable configuration', async () => {
    const reconciled = controller(testConfigMaps).reconcile(async () => undefined);
    await expect(run(reconciled, { kubeconfig: '/nowhere/kubeconfig' })).rejects.toThrow('/nowhere/kubeconfig');
    await expect(run()).rejects.toThrow();
    await expect(run(undefined as never)).rejects.toThrow('run() takes controllers, then options, not undefined');
  });

  it('writes nothing after leadership ran out, by its own clock, at the moment of the write', async () => {
    const { client, source, patches } = fake();
    const clock = new VirtualClock();
    let pausedMs = 0;
    // A paused process: time continues, but timers do not run.
    const paused = {
      now: () => clock.now() + pausedMs,
      monotonicNow: () => clock.monotonicNow() + pausedMs,
      setTimer: (callback: () => void, delayMs: number) => clock.setTimer(callback, delayMs),
      setBackgroundTimer: (callback: () => void, delayMs: number) => clock.setBackgroundTimer(callback, delayMs),
    };
    const refusals: unknown[] = [];
    let wake: () => void = () => undefined;
    let own: AbortSignal | undefined;
    const writing = controller(testConfigMaps).reconcile(async ({ metadata }, { client: guarded, signal }) => {
      own = signal;
      const patch = { type: 'merge', body: {} } as const;
      const target = { namespace: 'default', name: metadata?.name ?? '' };
      await guarded.patch(testConfigMaps, target, patch);
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
      await guarded.patch(testConfigMaps, target, patch).catch((error: unknown) => refusals.push(error));
    });
    const manager = new Manager([writing], { client, clock: paused, leaderElection: { name: 'x' } });
    const lost = expect(manager.run(new AbortController().signal)).rejects.toBeInstanceOf(LeadershipLostError);
    source.add(configMap({ name: 'a' }));
    await settle();
    expect(patches).toEqual(['a']);
    pausedMs = 20_000;
    // The first thing after the pause is the write; no timer has run.
    wake();
    await settle();
    expect(patches).toEqual(['a']);
    expect(refusals[0]).toBeInstanceOf(LeadershipLostError);
    expect(own?.aborted).toBe(true);
    await lost;
  });

  it('does not wait the grace period for a run that ignores its signal when leadership is lost', async () => {
    const { client, source, state } = fake();
    const clock = new VirtualClock();
    const told: unknown[] = [];
    const say = (text: string, fields?: unknown): void => void told.push([text, fields]);
    const infos: string[] = [];
    const info = (text: string): void => void infos.push(text);
    const logger = { debug: () => undefined, info, warn: say, error: () => undefined };
    const deaf = controller(testConfigMaps).reconcile(() => new Promise<never>(() => undefined));
    const manager = new Manager([deaf], {
      client,
      clock,
      logger,
      leaderElection: { name: 'x' },
      gracePeriodMs: 60_000,
    });
    let end: { readonly error: unknown; readonly atMs: number } | undefined;
    const running = manager.run(new AbortController().signal).catch((error: unknown) => {
      end = { error, atMs: clock.monotonicNow() };
    });
    source.add(configMap({ name: 'a' }));
    await settle();
    state.isCutOff = true;
    const cutAtMs = clock.monotonicNow();
    await clock.advance(15_000);
    await running;
    expect(end?.error).toBeInstanceOf(LeadershipLostError);
    // 10 s without a renewal, and 2 s for the aborted runs.
    expect((end?.atMs ?? 0) - cutAtMs).toBeLessThanOrEqual(12_000);
    expect(infos).not.toContain('All workers finished');
    expect(told).toContainEqual([
      'leadership was lost; runs that did not end are abandoned',
      { underWay: 'configmap default/a' },
    ]);
  });

  it('ends the write of an event when leadership is lost, and at the end of the run', async () => {
    for (const isLost of [true, false]) {
      const { client, source, state } = fake();
      const clock = new VirtualClock();
      const stop = new AbortController();
      const { create } = client;
      const writes: { readonly atMs: number; readonly signal: AbortSignal | undefined }[] = [];
      // A client that retries for as long as it is allowed.
      const recording = async (token: Resource, object: KubernetesObject, options?: WriteOptions): Promise<unknown> => {
        if (token.kind !== 'Event') return await create(token, object, options);
        writes.push({ atMs: clock.monotonicNow(), signal: options?.signal });
        await delay(clock, 30_000, options?.signal);
        throw new Error('503');
      };
      const reconciled = controller(testConfigMaps).reconcile(async (_object, { event }) => event('Normal', 'A', 'b'));
      const leaderElection = isLost ? { name: 'x' } : false;
      const manager = new Manager([reconciled], {
        client: { ...client, create: recording } as unknown as ResourceClient,
        clock,
        leaderElection,
      });
      const ended: number[] = [];
      const end = (): void => void ended.push(clock.monotonicNow());
      const running = manager.run(stop.signal).then(end, end);
      source.add(configMap({ name: 'a' }));
      await clock.advance(500);
      // The election makes its own write.
      expect(writes).toHaveLength(isLost ? 2 : 1);
      if (isLost) state.isCutOff = true;
      else stop.abort();
      await clock.advance(11_000);
      expect(writes.map(({ signal }) => signal?.aborted)).toEqual(isLost ? [true, true] : [true]);
      await running;
      expect(ended[0]).toBeLessThanOrEqual(isLost ? 10_500 : 5000);
      expect(clock.pendingTimers).toBe(0);
    }
  });

  it('rejects when leadership is lost, and has given nothing back', async () => {
    const { client, state } = fake();
    const clock = new VirtualClock();
    const reconciled = controller(testConfigMaps).reconcile(async () => undefined);
    const running = run(reconciled, {
      client,
      clock,
      leaderElection: { name: 'x', identity: 'me' },
      signal: new AbortController().signal,
    });
    const failed = expect(running).rejects.toBeInstanceOf(LeadershipLostError);
    await clock.advance(3000);
    state.isCutOff = true;
    await clock.advance(20_000);
    await failed;
    expect(state.lease?.spec?.holderIdentity).toBe('me');
    expect(clock.pendingTimers).toBe(0);
  });
});
