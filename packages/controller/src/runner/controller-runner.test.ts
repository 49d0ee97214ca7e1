import process from 'node:process';
import {
  type DeepReadonly,
  type LogFields,
  type Logger,
  type Resource,
  type ResourceClient,
  silentLogger,
} from '@kapstan/api';
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
import { type Controller, controller } from '../builder/controller-builder.ts';
import { generationChanged } from '../builder/predicate.ts';
import { Manager } from '../manager/manager.ts';
import { TerminalError } from '../reconcile/reconcile-loop.ts';

describe('a controller that runs', () => {
  let clock: VirtualClock;
  let maps: FakeListerWatcher<TestConfigMap>;
  let stop: AbortController;
  let running: Promise<void>;
  let errors: [message: string, fields: LogFields | undefined][];
  let managers: (string | undefined)[];
  beforeEach(() => {
    clock = new VirtualClock();
    maps = new FakeListerWatcher();
    stop = new AbortController();
    errors = [];
    managers = [];
  });
  afterEach(async () => {
    stop.abort();
    await running;
  });

  const logger: Logger = { ...silentLogger, error: (message, fields) => void errors.push([message, fields]) };
  const cached = (name: string): TestConfigMap | undefined => objects.get(name) as TestConfigMap | undefined;
  const objects = new Map<string, DeepReadonly<TestConfigMap>>();
  const client = {
    listerWatcher: () => maps,
    // The object is deleted with the last of its finalizers.
    patch: async (...[, { name }, patch, options]: Parameters<ResourceClient['patch']>) => {
      managers.push(options?.fieldManager);
      const { metadata } = patch.body as TestConfigMap;
      const { finalizers = [] } = metadata ?? {};
      const written = maps.modify({ ...cached(name), metadata: { ...cached(name)?.metadata, finalizers } });
      objects.set(name, written);
      if (finalizers.length === 0) maps.delete({ namespace: 'default', name });
      return written;
    },
  } as unknown as ResourceClient;
  const run = async (...controllers: Controller[]): Promise<void> => {
    running = new Manager(controllers, { client, clock, logger }).run(stop.signal);
    await settle();
  };

  it('says without a logger what failed, as warnings of the process', async () => {
    const warnings: string[] = [];
    const onWarning = ({ message }: Error): void => void warnings.push(message);
    process.on('warning', onWarning);
    try {
      const broken = controller(testConfigMaps)
        .when(({ key }) => {
          if (key === 'default/b') throw new Error('no predicate');
          return true;
        })
        .reconcile(async () => {
          throw new Error('no reconcile');
        });
      running = new Manager([broken], { client, clock }).run(stop.signal);
      await settle();
      maps.add(configMap({ name: 'a' }));
      maps.add(configMap({ name: 'b' }));
      await settle();
    } finally {
      process.off('warning', onWarning);
    }
    expect(warnings.filter((warning) => warning.includes('no predicate'))).toHaveLength(1);
    expect(warnings.filter((warning) => /requeuing.*default\/b/s.test(warning)).length).toBeGreaterThan(0);
    expect(warnings.find((warning) => warning.includes('no reconcile'))).toMatch(/requeuing.*key: 'default\/a'.*at /s);
  });

  it('loses no change by a predicate or a function for priorities that throws', async () => {
    const runs: string[] = [];
    const broken = (): never => {
      throw new Error('broken');
    };
    await run(
      controller(testConfigMaps)
        .when(broken)
        .settings({ priority: broken })
        .reconcile(async ({ metadata }) => void runs.push(`${metadata?.name} ${metadata?.labels?.v}`)),
    );
    maps.add(configMap({ name: 'a', labels: { v: '1' } }));
    await settle();
    maps.modify(configMap({ name: 'a', labels: { v: '2' } }));
    await settle();
    expect(runs).toEqual(['a 1', 'a 2']);
    const fields = { controller: 'configmap', kind: 'ConfigMap', key: 'default/a', error: new Error('broken') };
    const predicate = 'a predicate failed; the change is accepted';
    const priorities = 'the priority function failed; the default priority is used';
    const lines = [predicate, priorities].map((message) => [message, expect.objectContaining(fields)]);
    expect(errors).toEqual([...lines, ...lines]);
  });

  it('takes the default for a priority that is none, and says so', async () => {
    const runs: string[] = [];
    await run(
      controller(testConfigMaps)
        .settings({ priority: () => Number.NaN })
        .reconcile(async ({ metadata }) => void runs.push(metadata?.name ?? '')),
    );
    for (const name of ['a', 'b', 'c']) maps.add(configMap({ name }));
    await settle();
    expect(runs).toEqual(['a', 'b', 'c']);
    expect(errors).toHaveLength(3);
    expect(errors[0]).toMatchObject([
      'the priority function failed; the default priority is used',
      { key: 'default/a', error: new TypeError('a priority must be a whole number, not NaN') },
    ]);
  });

  it('says which change could not be mapped, and still maps the state for which it can', async () => {
    const runs: string[] = [];
    for (const name of ['a', 'b']) maps.add(configMap({ name }));
    await run(
      controller(testConfigMaps, { name: 'main' })
        .watches(testConfigMaps, ({ metadata, data }) => {
          if (metadata?.name === 'a' && data?.to === undefined) throw new Error('nowhere');
          return data?.to === undefined ? [] : [`default/${data.to}`];
        })
        .when(({ type }) => type === 'added')
        .reconcile(async ({ metadata }) => void runs.push(metadata?.name ?? '')),
    );
    runs.length = 0;
    errors.length = 0;
    maps.modify(configMap({ name: 'a' }, { to: 'b' }));
    await settle();
    expect(runs).toEqual(['b']);
    const fields = {
      controller: 'main',
      kind: 'ConfigMap',
      key: 'default/a',
      error: new Error('nowhere'),
      repeated: 1,
    };
    expect(errors).toEqual([['a change could not be mapped to keys; it is dropped', fields]]);
  });

  it('goes on with a trigger whose value could not be mapped', async () => {
    const runs: string[] = [];
    const trigger = new Subject<string>();
    maps.add(configMap({ name: 'a' }));
    await run(
      controller(testConfigMaps)
        .on(trigger, (name) => {
          if (name === 'bad') throw new Error('bad value');
          return [name];
        })
        .reconcile(async ({ metadata }) => void runs.push(metadata?.name ?? '')),
    );
    trigger.next('bad');
    trigger.next('default/a');
    await settle();
    trigger.error(new Error('over'));
    expect(runs).toEqual(['a', 'a']);
    expect(errors).toEqual([
      [
        'a value could not be mapped to keys; it is dropped',
        { controller: 'configmap', error: new Error('bad value') },
      ],
      ['a trigger failed; it gives no more values', { controller: 'configmap', error: new Error('over') }],
    ]);
  });

  it('tells once each way in which a key can never match, and drops it', async () => {
    const runs: string[] = [];
    const trigger = new Subject<string>();
    maps.add(configMap({ name: 'a' }));
    await run(
      controller(testConfigMaps, { name: 'main' })
        .on(trigger, (key) => [key])
        .reconcile(async ({ metadata }) => void runs.push(metadata?.name ?? '')),
    );
    for (const key of ['p1', '', 'a/b/c', 'p2', 'default/', '/a', 'default/a']) trigger.next(key);
    await settle();
    expect(runs).toEqual(['a', 'a']);
    const wrong = (problem: string, key: string) => [
      'a key is not the name of an object; it is dropped, and similar ones are dropped without further log lines',
      { controller: 'main', key, problem },
    ];
    expect(errors).toEqual([
      wrong('ConfigMap is namespaced: "namespace/name"', 'p1'),
      wrong('the name is empty', ''),
      wrong('"namespace/name" has one slash', 'a/b/c'),
    ]);
  });

  it('names what a map gives that is no list of keys', async () => {
    const trigger = new Subject<unknown>();
    await run(
      controller(testConfigMaps, { name: 'main' })
        .on(trigger, (keys) => keys as never)
        .reconcile(async () => undefined),
    );
    for (const keys of [undefined, 'default/a', [null], [{ namespace: 'default' }]]) trigger.next(keys);
    const lost = (error: string, more = {}) => [
      'a value could not be mapped to keys; it is dropped',
      { controller: 'main', error: new TypeError(error), ...more },
    ];
    expect(errors).toEqual([
      lost('a map gives a list of keys, not undefined'),
      lost("a map gives a list of keys, not 'default/a'", { repeated: 1 }),
      lost('a key is "namespace/name" or { namespace, name }, not null'),
      lost(`a key is "namespace/name" or { namespace, name }, not { namespace: 'default' }`, { repeated: 1 }),
    ]);
  });

  it('says when a trigger has ended', async () => {
    const trigger = new Subject<string>();
    const infos: unknown[] = [];
    const info = (message: string, fields?: LogFields) => void infos.push([message, fields]);
    const one = controller(testConfigMaps)
      .on(trigger, (key) => [key])
      .reconcile(async () => undefined);
    running = new Manager([one], { client, clock, logger: { ...logger, info } }).run(stop.signal);
    await settle();
    trigger.complete();
    expect(infos).toContainEqual(['a trigger has ended', { controller: 'configmap' }]);
  });

  it('reconciles once what fails for good, although the run put finalizers on, under the name of its controller', async () => {
    const runs: unknown[] = [];
    await run(
      controller(testConfigMaps, { name: 'careful' })
        .finalize('a.io/first', async () => undefined)
        .finalize('a.io/second', async () => undefined)
        .reconcile(async ({ metadata }) => {
          runs.push(metadata?.finalizers);
          throw new TerminalError('never');
        }),
    );
    objects.set('a', maps.add(configMap({ name: 'a' })));
    await clock.advance(60_000);
    expect(runs).toEqual([['a.io/first', 'a.io/second']]);
    expect(managers).toEqual(['careful', 'careful']);
    // A change by another writer counts, even if it is a finalizer.
    objects.set(
      'a',
      maps.modify({
        ...cached('a'),
        metadata: { ...cached('a')?.metadata, finalizers: ['a.io/first', 'a.io/second', 'b.io/other'] },
      }),
    );
    await settle();
    expect(runs).toHaveLength(2);
    maps.delete({ namespace: 'default', name: 'a' });
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

  it('lets what the first list brings wait behind changes', async () => {
    const runs: string[] = [];
    const ends: (() => void)[] = [];
    for (const name of ['a', 'b', 'c']) maps.add(configMap({ name }));
    await run(
      controller(testConfigMaps).reconcile(async ({ metadata }) => {
        runs.push(metadata?.name ?? '');
        await new Promise<void>((resolve) => ends.push(resolve));
      }),
    );
    maps.add(configMap({ name: 'new' }));
    await settle();
    for (let at = 0; at < 4; at++) {
      ends.shift()?.();
      await settle();
    }
    expect(runs).toEqual(['a', 'new', 'b', 'c']);
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
    // All keys come back while the only worker is busy, and then a new one arrives.
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

  it('counts the runs that take too long, and shows by priority what waits behind them', async () => {
    for (const name of ['a', 'b', 'c']) maps.add(configMap({ name }));
    const slow = controller(testConfigMaps)
      .settings({ timeoutMs: 2000 })
      .reconcile((_, { signal }) => new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve())));
    const manager = new Manager([slow], { client, clock, logger, gracePeriodMs: 0 });
    running = manager.run(stop.signal);
    await settle();
    const shown = async (name: string): Promise<readonly string[]> => {
      const page = await manager.metrics.getSingleMetricAsString(name);
      return page.split('\n').filter((line) => !line.startsWith('#'));
    };
    expect(await shown('workqueue_depth')).toEqual([
      'workqueue_depth{name="configmap",controller="configmap",priority="-100"} 2',
    ]);
    expect(await shown('controller_runtime_reconcile_timeouts_total')).toEqual([
      'controller_runtime_reconcile_timeouts_total{controller="configmap"} 0',
    ]);
    await clock.advance(4500);
    expect(await shown('controller_runtime_reconcile_timeouts_total')).toEqual([
      'controller_runtime_reconcile_timeouts_total{controller="configmap"} 2',
    ]);
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
