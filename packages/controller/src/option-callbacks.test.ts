import type { ResourceClient } from '@kapstan/api';
import { conflict } from '@kapstan/api/errors';
import {
  configMap,
  FakeListerWatcher,
  settle,
  type TestConfigMap,
  testConfigMaps,
  VirtualClock,
} from '@kapstan/api/testing';
import type { Lease } from '@kapstan/kinds/coordination.k8s.io/v1';
import { beforeEach, describe, expect, it } from 'vitest';
import { controller } from './builder/controller-builder.ts';
import { LeaderElector } from './leader-election/leader-elector.ts';
import { Manager } from './manager/manager.ts';
import { ReconcileLoop } from './reconcile/reconcile-loop.ts';
import { RateLimitingQueue } from './workqueue/index.ts';

type Callbacks = Readonly<Record<string, (...given: never[]) => unknown>>;

/** Options that record which of their functions are called as methods, and which are not. */
function watching<C extends Callbacks>(callbacks: C): { options: C; calls: () => readonly string[] } {
  const calls = new Set<string>();
  const options = Object.fromEntries(
    Object.entries(callbacks).map(([name, callback]) => {
      function called(this: unknown, ...given: never[]): unknown {
        calls.add(this === options ? name : `${name} of another`);
        return callback(...given);
      }
      return [name, called];
    }),
  ) as C;
  return { options, calls: () => [...calls].sort() };
}

let clock: VirtualClock;
let stop: AbortController;
beforeEach(() => {
  clock = new VirtualClock();
  stop = new AbortController();
});

describe('callbacks are called as methods of the options in which they were given', () => {
  it('by a loop', async () => {
    const queue = new RateLimitingQueue<string>({ clock });
    const { options, calls } = watching({ reconcile: async () => undefined, onOutcome: () => undefined });
    const finished = new ReconcileLoop(Object.assign(options, { queue, clock })).run(stop.signal);
    queue.add('a');
    await settle();
    stop.abort();
    await finished;
    expect(calls()).toEqual(['onOutcome', 'reconcile']);
  });

  it('by a manager and its controllers', async () => {
    const source = new FakeListerWatcher<TestConfigMap>();
    const settings = watching({ priority: () => 0, onOutcome: () => undefined });
    const watched = watching({ when: () => true });
    const informers = watching({
      onWatchError: () => undefined,
      random: () => 0,
      transform: <O>(object: O): O => object,
      tweakListOptions: () => ({}),
    });
    const one = controller(testConfigMaps)
      .watches(testConfigMaps, () => [], watched.options)
      .settings(settings.options)
      .reconcile(async () => undefined);
    const client = { listerWatcher: () => source } as unknown as ResourceClient;
    const running = new Manager([one], { client, clock, informers: informers.options }).run(stop.signal);
    source.add(configMap({ name: 'a' }));
    await settle();
    source.resetWatches(new Error('down'));
    await clock.advance(60_000);
    stop.abort();
    await running;
    expect([settings.calls(), watched.calls()]).toEqual([['onOutcome', 'priority'], ['when']]);
    expect(informers.calls()).toEqual(['onWatchError', 'random', 'transform', 'tweakListOptions']);
  });

  it('by an election', async () => {
    let lease: Lease | undefined;
    const isOurs = () => lease?.spec?.holderIdentity === 'me';
    const client = {
      create: async () => lease,
      get: async () => lease,
      update: async (_token: unknown, written: Lease) => {
        // The first renewal finds that another process has written it.
        if (isOurs() && calls().includes('onChange') && !calls().includes('onSlowRenewal'))
          throw conflict({ group: '', resource: 'leases' }, 'x', 'changed');
        lease = written;
        return written;
      },
    } as unknown as ResourceClient;
    lease = { metadata: { name: 'x', namespace: 'ns' }, spec: { holderIdentity: 'other', leaseDurationSeconds: 1 } };
    const { options, calls } = watching({
      random: () => 0,
      onChange: () => undefined,
      onNewLeader: () => undefined,
      onSlowRenewal: () => undefined,
    });
    const elector = new LeaderElector(
      Object.assign(options, { client, clock, name: 'x', namespace: 'ns', identity: 'me' }),
    );
    const work = (): Promise<void> => new Promise((resolve) => stop.signal.addEventListener('abort', () => resolve()));
    const finished = elector.run(work, stop.signal);
    await clock.advance(20_000);
    stop.abort();
    await finished;
    expect(calls()).toEqual(['onChange', 'onNewLeader', 'onSlowRenewal', 'random']);
  });
});
