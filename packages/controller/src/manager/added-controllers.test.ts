import { deepCopy, type LogFields, type Resource, type ResourceClient, silentLogger } from '@kapstan/api';
import { notFound } from '@kapstan/api/errors';
import {
  configMap,
  FakeListerWatcher,
  pod,
  settle,
  type TestConfigMap,
  type TestPod,
  testConfigMaps,
  testPods,
  VirtualClock,
} from '@kapstan/api/testing';
import type { Lease } from '@kapstan/kinds/coordination.k8s.io/v1';
import { beforeEach, describe, expect, it } from 'vitest';
import { type Controller, controller } from '../builder/controller-builder.ts';
import { Manager } from './manager.ts';
import type { ManagerOptions } from './manager-options.ts';

let clock: VirtualClock;
let maps: FakeListerWatcher<TestConfigMap>;
let pods: FakeListerWatcher<TestPod>;
let lease: Lease | undefined;
let runs: string[];
let warnings: string[];
let stop: AbortController;
beforeEach(() => {
  clock = new VirtualClock();
  maps = new FakeListerWatcher();
  pods = new FakeListerWatcher();
  maps.add(configMap({ name: 'm' }));
  pods.add(pod({ name: 'p', namespace: 'default' }));
  lease = undefined;
  runs = [];
  warnings = [];
  stop = new AbortController();
});

const write = async (_kind: Resource, written: Lease): Promise<Lease> => {
  lease = deepCopy(written) as Lease;
  return lease;
};
const client = {
  listerWatcher: ({ kind }: Resource) => (kind === testPods.kind ? pods : maps),
  get: async () => {
    if (lease === undefined) throw notFound({ group: '', resource: 'leases' }, 'x');
    return deepCopy(lease);
  },
  create: write,
  update: write,
} as unknown as ResourceClient;

/** Records the names for which it is called. */
const recording = (kind: Resource, name: string): Controller =>
  controller(kind, { name }).reconcile(async ({ metadata }) => void runs.push(`${name} ${metadata.name}`));

function start(options: Partial<ManagerOptions> = {}) {
  const warn = (text: string, fields: LogFields = {}) => void warnings.push(`${text} ${fields.kind ?? ''}`.trim());
  const logger = { ...silentLogger, warn };
  const manager = new Manager([recording(testConfigMaps, 'first')], { client, clock, logger, ...options });
  const ended = manager.run(stop.signal).then(
    () => undefined,
    (error: unknown) => error,
  );
  return { manager, ended };
}

describe('a controller that is added to a manager', () => {
  it('runs with the others when it is added before the start', async () => {
    const manager = new Manager([recording(testConfigMaps, 'first')], { client, clock, logger: silentLogger });
    manager.add(recording(testPods, 'second'));
    const ended = manager.run(stop.signal);
    await settle();
    expect(runs.sort()).toEqual(['first m', 'second p']);
    stop.abort();
    await ended;
    expect([pods.openWatches, maps.openWatches, clock.pendingTimers]).toEqual([0, 0, 0]);
  });

  it('starts in a running manager when its own caches are filled, and ends with it', async () => {
    const { manager, ended } = start();
    await settle();
    expect([runs, pods.openWatches]).toEqual([['first m'], 0]);
    // A list that nobody may watch is out of date at once.
    for (let times = 0; times < 3; times++) pods.failNext('watch', new Error('refused'));
    manager.add(recording(testPods, 'second'));
    await settle();
    expect(runs).toEqual(['first m']);
    expect(warnings).toEqual([expect.stringContaining('failed to list or watch, trying again: Pod')]);
    await clock.advance(30_000);
    expect(runs).toEqual(['first m', 'second p']);
    pods.add(pod({ name: 'q', namespace: 'default' }));
    maps.add(configMap({ name: 'n' }));
    await settle();
    expect(runs.slice(2).sort()).toEqual(['first n', 'second q']);
    stop.abort();
    expect(await ended).toBeUndefined();
    expect([pods.openWatches, maps.openWatches, clock.pendingTimers]).toEqual([0, 0, 0]);
  });

  it('starts at once on a kind that is cached already, and is counted', async () => {
    const { manager, ended } = start();
    await settle();
    manager.add(recording(testConfigMaps, 'again'));
    await settle();
    expect(runs).toEqual(['first m', 'again m']);
    expect(await manager.metrics.metrics()).toContain(
      'controller_runtime_reconcile_total{controller="again",result="success"} 1',
    );
    stop.abort();
    await ended;
  });

  it('fills its caches in a standby, and runs when this process leads', async () => {
    lease = { metadata: { name: 'x' }, spec: { holderIdentity: 'other', leaseDurationSeconds: 15 } } as Lease;
    const { manager, ended } = start({ leaderElection: { name: 'x' } });
    await clock.advance(1000);
    manager.add(recording(testPods, 'second'));
    await clock.advance(1000);
    expect([runs, pods.openWatches]).toEqual([[], 1]);
    await clock.advance(30_000);
    expect(runs.sort()).toEqual(['first m', 'second p']);
    stop.abort();
    expect(await ended).toBeUndefined();
  });

  it('has its definition installed before its caches are filled, with installCrds', async () => {
    const definitions = new FakeListerWatcher();
    const installed: unknown[] = [];
    const definition = {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'pods.test' },
      status: { conditions: [{ type: 'Established', status: 'True' }] },
    };
    const listerWatcher = ({ kind }: Resource) =>
      kind === testPods.kind ? pods : kind === 'CustomResourceDefinition' ? definitions : maps;
    const apply = async (_kind: Resource, object: { readonly metadata: { readonly name: string } }) => {
      installed.push([object.metadata.name, pods.openWatches]);
      definitions.add(definition as never);
    };
    const options = { installCrds: true, client: { ...client, listerWatcher, apply } as unknown as ResourceClient };
    const { manager, ended } = start(options);
    await settle();
    manager.add(recording({ ...testPods, definition } as unknown as Resource, 'second'));
    await settle();
    expect(installed).toEqual([['pods.test', 0]]);
    expect(runs).toEqual(['first m', 'second p']);
    stop.abort();
    expect(await ended).toBeUndefined();
  });

  it('ends the manager when its caches cannot be filled in time, as at the start', async () => {
    const { manager, ended } = start({ cacheSyncTimeoutMs: 5000 });
    await settle();
    for (let times = 0; times < 50; times++)
      for (const verb of ['watch', 'list'] as const) pods.failNext(verb, notFound({ group: '', resource: 'pods' }, ''));
    manager.add(recording(testPods, 'second'));
    await clock.advance(5000);
    expect(await ended).toEqual(
      new Error(
        'timed out after 5000 ms waiting for caches to sync: Pod (pods.v1): the server does not serve it: is its CustomResourceDefinition installed?',
      ),
    );
    expect(runs).toEqual(['first m']);
  });

  it('is refused with a name that is taken, with webhooks, and after the stop', async () => {
    const { manager, ended } = start();
    expect(() => manager.add(recording(testPods, 'first'))).toThrow('two controllers are named first');
    const hooked = controller(testPods, { name: 'hooked' })
      .validates(() => undefined)
      .reconcile(async () => undefined);
    expect(() => manager.add(hooked)).toThrow(
      'the controller hooked declares webhooks, which are set up with the manager: give it to its constructor',
    );
    stop.abort();
    await ended;
    expect(() => manager.add(recording(testPods, 'late'))).toThrow(
      'the manager is ending: it does not start the controller late any more',
    );
    expect(pods.openWatches).toBe(0);
  });
});
