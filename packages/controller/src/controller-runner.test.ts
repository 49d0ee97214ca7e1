import process from 'node:process';
import type { DeepReadonly, ObjectTarget, Patch, Resource, ResourceClient } from '@kapstan/api';
import {
  configMap,
  FakeListerWatcher,
  settle,
  type TestConfigMap,
  testConfigMaps,
  testPods,
  VirtualClock,
} from '@kapstan/api/testing';
import { Subject } from 'rxjs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Controller, controller } from './controller-builder.ts';
import { Manager } from './manager.ts';
import { generationChanged } from './predicate.ts';

describe('a controller that runs', () => {
  let clock: VirtualClock;
  let maps: FakeListerWatcher<TestConfigMap>;
  let stop: AbortController;
  let running: Promise<void>;
  beforeEach(() => {
    clock = new VirtualClock();
    maps = new FakeListerWatcher();
    stop = new AbortController();
  });
  afterEach(async () => {
    stop.abort();
    await running;
  });

  const cached = (name: string): TestConfigMap | undefined => objects.get(name) as TestConfigMap | undefined;
  const objects = new Map<string, DeepReadonly<TestConfigMap>>();
  const client = {
    listerWatcher: () => maps,
    // Finalizers: the object goes with the last of them.
    patch: async (_token: Resource, { name }: ObjectTarget, patch: Patch) => {
      const { metadata } = patch.body as TestConfigMap;
      const { finalizers = [] } = metadata ?? {};
      const written = maps.modify({ ...cached(name), metadata: { ...cached(name)?.metadata, finalizers } });
      objects.set(name, written);
      if (finalizers.length === 0) maps.delete({ namespace: 'default', name });
      return written;
    },
  } as unknown as ResourceClient;
  const run = async (...controllers: Controller[]): Promise<void> => {
    running = new Manager(controllers, { client, clock }).run(stop.signal);
    await settle();
  };

  it('says without a logger what failed, as warnings of the process', async () => {
    const warnings: string[] = [];
    const onWarning = ({ message }: Error): void => void warnings.push(message);
    process.on('warning', onWarning);
    try {
      await run(
        controller(testConfigMaps)
          .when(({ key }) => {
            if (key === 'default/b') throw new Error('no predicate');
            return true;
          })
          .reconcile(async () => {
            throw new Error('no reconcile');
          }),
      );
      maps.add(configMap({ name: 'a' }));
      maps.add(configMap({ name: 'b' }));
      await settle();
    } finally {
      process.off('warning', onWarning);
    }
    expect(warnings.filter((warning) => warning.includes('no predicate'))).toHaveLength(1);
    expect(warnings.find((warning) => warning.includes('no reconcile'))).toMatch(/requeuing.*key: 'default\/a'/);
  });

  it('calls every finalizer of a deleted object, each with what the one before left, when only generations count', async () => {
    const finalized: unknown[] = [];
    const note =
      (name: string) =>
      async ({ metadata }: DeepReadonly<TestConfigMap>): Promise<void> =>
        void finalized.push([name, metadata?.finalizers]);
    await run(
      controller(testConfigMaps)
        .when(generationChanged)
        .finalize('a.io/first', note('first'))
        .finalize('a.io/second', note('second'))
        .reconcile(async () => undefined),
    );
    const metadata = {
      name: 'a',
      generation: 2,
      deletionTimestamp: '2026-01-01T00:00:00Z',
      finalizers: ['a.io/first', 'a.io/second'],
    };
    objects.set('a', maps.add(configMap(metadata)));
    await clock.advance(60_000);
    expect(finalized).toEqual([
      ['first', ['a.io/first', 'a.io/second']],
      ['second', ['a.io/second']],
    ]);
    expect((await maps.list({})).items).toEqual([]);
  });

  it('lets resyncs wait behind changes', async () => {
    const runs: string[] = [];
    const ends: (() => void)[] = [];
    for (const name of ['a', 'b']) maps.add(configMap({ name }));
    const reconciled = controller(testConfigMaps).reconcile(async ({ metadata }) => {
      runs.push(metadata?.name ?? '');
      await new Promise<void>((resolve) => ends.push(resolve));
    });
    const informers = { resyncMs: 60_000 };
    running = new Manager([reconciled], { client, clock, informers, gracePeriodMs: 0 }).run(stop.signal);
    await settle();
    for (let at = 0; at < 2; at++) {
      ends.shift()?.();
      await settle();
    }
    expect(runs).toEqual(['a', 'b']);
    maps.add(configMap({ name: 'busy' }));
    await settle();
    // All come back while the one worker is busy, and then something new.
    await clock.advance(60_100);
    maps.add(configMap({ name: 'new' }));
    await settle();
    for (let at = 0; at < 3; at++) {
      ends.shift()?.();
      await settle();
    }
    expect(runs.slice(2, 6)).toEqual(['busy', 'new', 'a', 'b']);
    stop.abort();
    for (let at = 0; at < 9; at++) {
      ends.shift()?.();
      await settle();
    }
  });

  it('takes an owner of another group for none of its own', async () => {
    const runs: string[] = [];
    const pods = new FakeListerWatcher<TestConfigMap>();
    const both = { listerWatcher: ({ kind }: Resource) => (kind === testPods.kind ? pods : maps) };
    const reconciled = controller(testConfigMaps)
      .owns(testPods)
      .reconcile(async ({ metadata }) => void runs.push(metadata?.name ?? ''));
    running = new Manager([reconciled], { client: both as unknown as ResourceClient, clock }).run(stop.signal);
    for (const name of ['a', 'b']) maps.add(configMap({ name }));
    await settle();
    runs.length = 0;
    for (const [name, apiVersion] of [
      ['a', 'other.io/v1'],
      ['b', 'v1'],
    ] as const) {
      const ownerReferences = [{ apiVersion, kind: 'ConfigMap', name, uid: name, controller: true }];
      pods.add({ metadata: { namespace: 'default', name, ownerReferences } } as TestConfigMap);
    }
    await settle();
    expect(runs).toEqual(['b']);
  });

  it('listens to triggers only while it works', async () => {
    const trigger = new Subject<string>();
    await run(
      controller(testConfigMaps)
        .on(trigger, (name) => [name])
        .reconcile(async () => undefined),
    );
    expect(trigger.observed).toBe(true);
    stop.abort();
    await running;
    expect(trigger.observed).toBe(false);
  });
});
