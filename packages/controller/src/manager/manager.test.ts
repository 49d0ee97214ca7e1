import {
  type CallOptions,
  type DeepReadonly,
  defineResource,
  delay,
  type LogFields,
  metaNamespaceKey,
  type Resource,
  type ResourceClient,
  silentLogger,
} from '@kapstan/api';
import { forbidden, notFound } from '@kapstan/api/errors';
import {
  configMap,
  FakeListerWatcher,
  settle,
  type TestConfigMap,
  testConfigMaps,
  testPods,
  VirtualClock,
} from '@kapstan/api/testing';
import { Client } from '@kapstan/client';
import type { KeyList, Overview } from '@kapstan/inspector';
import { Event, Secret } from '@kapstan/kinds/core/v1';
import { beforeEach, describe, expect, it } from 'vitest';
import { type Controller, controller } from '../builder/controller-builder.ts';
import { Manager } from './manager.ts';
import type { ManagerOptions } from './manager-options.ts';

const missing = notFound({ group: '', resource: 'configmaps' }, '');
const forbiddenError = forbidden({ group: '', resource: 'pods' }, '', 'no rights');
const idle = controller(testConfigMaps)
  .owns(testPods)
  .reconcile(async () => undefined);

let clock: VirtualClock;
let maps: FakeListerWatcher<TestConfigMap>;
let pods: FakeListerWatcher<TestConfigMap>;
let warnings: string[];
let stop: AbortController;
beforeEach(() => {
  clock = new VirtualClock();
  maps = new FakeListerWatcher();
  pods = new FakeListerWatcher();
  warnings = [];
  stop = new AbortController();
});

const sources = {
  listerWatcher: ({ kind }: Resource) => (kind === testPods.kind ? pods : maps),
};

/** Resolves to how the run ends: undefined, or its error. */
function run(one: Controller, options: Partial<ManagerOptions> = {}): Promise<unknown> {
  const warn = (message: string, fields: LogFields = {}): void => {
    const text = Object.entries(fields).map(([name, value]) => `${name}: ${value}`);
    warnings.push(text.length === 0 ? message : `${message} { ${text.join(', ')} }`);
  };
  const logger = { ...silentLogger, warn };
  const client = sources as unknown as ResourceClient;
  const manager = new Manager([one], { client, clock, logger, gracePeriodMs: 1000, ...options });
  return manager.run(stop.signal).then(
    () => undefined,
    (error: unknown) => error,
  );
}

/** Answers every list and watch with the error. */
function refuse(source: FakeListerWatcher<TestConfigMap>, error: Error): void {
  for (let times = 0; times < 200; times++) for (const verb of ['watch', 'list'] as const) source.failNext(verb, error);
}

describe('a manager whose caches cannot be filled', () => {
  it('names a kind that is not served in one warning, and gives up after 2 min with the same text', async () => {
    refuse(maps, missing);
    const ended = run(idle);
    await clock.advance(119_999);
    const text = 'ConfigMap (configmaps.v1): the server does not serve it: is its CustomResourceDefinition installed?';
    expect(warnings).toEqual([`failed to list or watch, trying again: ${text}`]);
    await clock.advance(1);
    expect(await ended).toEqual(new Error(`timed out after 120000 ms waiting for caches to sync: ${text}`));
    expect([clock.pendingTimers, maps.openWatches, pods.openWatches]).toEqual([0, 0, 0]);
  });

  it('does not work on a kind that it may list and not watch, and says so once', async () => {
    for (let times = 0; times < 200; times++) maps.failNext('watch', forbiddenError);
    maps.add(configMap({ name: 'a' }));
    const reconciled: (string | undefined)[] = [];
    const ended = run(
      controller(testConfigMaps).reconcile(async ({ metadata }) => void reconciled.push(metadata?.name)),
      { cacheSyncTimeoutMs: 150_000 },
    );
    await clock.advance(149_999);
    const text = `ConfigMap (configmaps.v1): ${forbiddenError.message}`;
    expect(warnings).toEqual([`failed to list or watch, trying again: ${text}`]);
    await clock.advance(1);
    expect(await ended).toEqual(new Error(`timed out after 150000 ms waiting for caches to sync: ${text}`));
    expect(reconciled).toEqual([]);
  });

  it('points to installCrds where the program has the definition', async () => {
    refuse(maps, missing);
    const defined = { ...testConfigMaps, definition: { metadata: { name: 'x' } } };
    const ended = run(controller(defined as typeof testConfigMaps).reconcile(async () => undefined));
    await settle();
    expect(warnings).toEqual([expect.stringContaining('which installCrds: true installs')]);
    stop.abort();
    await ended;
  });

  it('says that a restart helps where the definition went after it was installed', async () => {
    const definitions = new FakeListerWatcher();
    definitions.add({
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'x' },
      status: { conditions: [{ type: 'Established', status: 'True' }] },
    } as never);
    refuse(pods, missing);
    const defined = { ...testPods, definition: { metadata: { name: 'x' } } };
    const listerWatcher = ({ kind }: Resource) => (kind === testPods.kind ? pods : definitions);
    const client = { listerWatcher, apply: async () => undefined } as unknown as ResourceClient;
    const ended = run(
      controller(defined as typeof testPods).reconcile(async () => undefined),
      {
        client,
        installCrds: true,
      },
    );
    await settle();
    expect(warnings).toEqual([
      'failed to list or watch, trying again: Pod (pods.v1): the server does not serve it: its CustomResourceDefinition went after the start, a restart installs it again',
    ]);
    stop.abort();
    await ended;
  });

  it('names each that is not filled, also one that has not answered, after a time of the user', async () => {
    refuse(pods, forbiddenError);
    const deaf = { ...maps, list: () => new Promise(() => undefined), watch: () => new Promise(() => undefined) };
    maps = deaf as unknown as FakeListerWatcher<TestConfigMap>;
    const ended = run(idle, { cacheSyncTimeoutMs: 5000 });
    await clock.advance(5000);
    expect(await ended).toMatchObject({
      message: `timed out after 5000 ms waiting for caches to sync: ConfigMap (configmaps.v1): no answer yet; Pod (pods.v1): ${forbiddenError.message}`,
    });
  });

  it.each([false, true])(
    'rejects at once for a client that was closed, installing definitions or not: %s',
    async (installCrds) => {
      const client = new Client({ server: 'http://127.0.0.1:1' });
      await client.close();
      const own = controller(
        defineResource({ group: 'demo.dev', version: 'v1', kind: 'Own', spec: { type: 'object' } }),
      );
      const failure = await run(
        own.reconcile(async () => undefined),
        { client, installCrds },
      );
      expect(String(failure)).toContain('the client is closed');
      const text = installCrds
        ? /^TransportError: PATCH /
        : /: a manager needs one that stays open until its run has ended$/;
      expect(String(failure)).toMatch(text);
      expect(clock.pendingTimers).toBe(0);
    },
  );

  it('waits on where a connection was given up with that code', async () => {
    const cause = new Error('The client is destroyed');
    refuse(pods, Object.assign(new Error('given up', { cause }), { code: 'ECANCELED' }));
    const ended = run(idle, { cacheSyncTimeoutMs: 5000 });
    await clock.advance(5000);
    expect(String(await ended)).toContain(
      'timed out after 5000 ms waiting for caches to sync: Pod (pods.v1): given up',
    );
  });

  it('says it once though several namespaces are looked at', async () => {
    refuse(maps, missing);
    const ended = run(idle, { namespaces: ['a', 'b'] });
    await clock.advance(20_000);
    expect(warnings).toHaveLength(1);
    stop.abort();
    await ended;
  });

  it.each([
    ['what they ask for is refused', forbiddenError],
    ['there is no server', Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })],
  ])('ends in peace when it is stopped before they are, though %s', async (_, error) => {
    refuse(pods, error);
    const ended = run(idle);
    await clock.advance(10_000);
    expect(warnings).toHaveLength(1);
    stop.abort();
    expect(await ended).toBeUndefined();
    expect([clock.pendingTimers, maps.openWatches, pods.openWatches]).toEqual([0, 0, 0]);
  });

  it('waits for ever with 0, begins when it may, and warns anew of what comes later', async () => {
    for (let times = 0; times < 30; times++)
      for (const verb of ['watch', 'list'] as const) pods.failNext(verb, forbiddenError);
    const ended = run(idle, { cacheSyncTimeoutMs: 0, informers: { random: () => 0.5 } });
    await clock.advance(3_600_000);
    expect([warnings.length, pods.openWatches]).toEqual([1, 1]);
    refuse(pods, missing);
    pods.resetWatches();
    await clock.advance(120_000);
    expect(warnings.slice(1)).toEqual([expect.stringContaining('Pod (pods.v1): the server does not serve it')]);
    stop.abort();
    expect(await ended).toBeUndefined();
  });
});

it('a manager of many controllers does not look like a leak', async () => {
  const heard: string[] = [];
  const listen = ({ message }: Error): void => void heard.push(message);
  process.on('warning', listen);
  const many = Array.from({ length: 20 }, (_, at) =>
    controller(testConfigMaps, { name: `${at}` }).reconcile(async () => undefined),
  );
  const client = sources as unknown as ResourceClient;
  const running = new Manager(many, { client, clock }).run(stop.signal);
  await settle();
  stop.abort();
  await running;
  process.off('warning', listen);
  expect(heard).toEqual([]);
});

it('a manager says where it serves metrics and probes', async () => {
  const told: unknown[] = [];
  const info = (message: string, fields?: LogFields) => void told.push([message, fields]);
  const client = sources as unknown as ResourceClient;
  const metrics = { port: 0, host: '127.0.0.1' };
  const manager = new Manager([idle], { client, clock, metrics, logger: { ...silentLogger, info } });
  const ended = manager.run(stop.signal);
  await manager.whenReady();
  expect(told[0]).toEqual(['serving metrics and probes', { host: '127.0.0.1', port: manager.probePort }]);
  stop.abort();
  await ended;
});

describe('an index of a controller', () => {
  const users = testPods as unknown as typeof testConfigMaps;
  const usedMap = ({ data }: DeepReadonly<TestConfigMap>) => [data?.uses];
  const pod = (name: string, uses: string) => ({ ...configMap({ name }, { uses }), kind: testPods.kind });

  it('finds objects in a reconcile and in the functions of watches(), kept up with every change', async () => {
    const seen: string[] = [];
    const names = (objects: readonly DeepReadonly<TestConfigMap>[]) =>
      objects.map(({ metadata }) => metadata?.name).sort();
    // The pods that use a map are reconciled when it changes.
    const one = controller(users)
      .watches(testConfigMaps, ({ metadata }, { cache }) =>
        cache(users)
          .byIndex('uses', metadata?.name ?? '')
          .map((user) => metaNamespaceKey(user)),
      )
      .index(users, 'uses', usedMap)
      .reconcile(async ({ metadata, data }, { cache }) => {
        seen.push(`${metadata?.name}: ${names(cache(users).byIndex('uses', data?.uses ?? ''))}`);
      });
    for (const name of ['a', 'b']) pods.add(pod(name, 'm'));
    pods.add(pod('c', 'other'));
    const ended = run(one);
    await settle();
    expect(seen.sort()).toEqual(['a: a,b', 'b: a,b', 'c: c']);
    seen.length = 0;
    maps.add(configMap({ name: 'm' }));
    await settle();
    expect(seen).toEqual(['a: a,b', 'b: a,b']);
    seen.length = 0;
    pods.modify(pod('a', 'other'));
    await settle();
    expect(seen).toEqual(['a: a,c']);
    stop.abort();
    expect(await ended).toBeUndefined();
  });

  it('caches a kind that nothing else watches, is waited for, and has nothing reconciled', async () => {
    const runs: unknown[] = [];
    const one = controller(testConfigMaps)
      .index(users, 'uses', usedMap)
      .reconcile(async ({ metadata }, { cache }) => {
        const found = cache(users).byIndex('uses', metadata?.name ?? '');
        runs.push(found.map((user) => user.metadata?.name));
      });
    maps.add(configMap({ name: 'm' }));
    pods.add(pod('a', 'm'));
    pods.failNext('watch', new Error('refused'));
    pods.failNext('list', new Error('refused'));
    const ended = run(one);
    await settle();
    expect(runs).toEqual([]);
    await clock.advance(30_000);
    expect(runs).toEqual([['a']]);
    pods.add(pod('b', 'm'));
    await settle();
    expect(runs).toEqual([['a']]);
    stop.abort();
    await ended;
  });

  it('has its definition installed with the others', async () => {
    const applied: string[] = [];
    const apply = async (_resource: Resource, { metadata }: TestConfigMap) => void applied.push(metadata?.name ?? '');
    const defined = { ...users, definition: { metadata: { name: 'pods.demo.dev' } } } as typeof users;
    const one = controller(testConfigMaps)
      .index(defined, 'uses', usedMap)
      .reconcile(async () => undefined);
    const ended = run(one, { installCrds: true, client: { ...sources, apply } as unknown as ResourceClient });
    await settle();
    expect(applied).toEqual(['pods.demo.dev']);
    stop.abort();
    await ended;
  });

  it('is one of a manager: two controllers may give the same function, not two under one name', () => {
    const client = sources as unknown as ResourceClient;
    const managed = (valuesOf: typeof usedMap) => {
      const build = (name: string, values: typeof usedMap): Controller =>
        controller(users, { name })
          .index(users, 'uses', values)
          .reconcile(async () => undefined);
      return new Manager([build('one', usedMap), build('two', valuesOf)], { client, clock });
    };
    expect(() => managed(usedMap)).not.toThrow();
    expect(() => managed(() => [])).toThrow(new TypeError('Pod has an index named uses with another function'));
  });
});

describe('the end of a manager', () => {
  it('names the controllers and objects whose reconciles do not end', async () => {
    const deaf = controller(testConfigMaps, { name: 'deaf' })
      .settings({ workers: 2 })
      .reconcile(() => new Promise<void>(() => undefined));
    const ended = run(deaf);
    for (const name of ['a', 'b', 'c']) maps.add(configMap({ name }));
    await settle();
    stop.abort();
    await clock.advance(10_000);
    expect(await ended).toEqual(
      new Error(
        'failed waiting for all controllers to end within grace period of 1000 ms and 2000 ms for aborted runs; still under way: deaf default/a, deaf default/b',
      ),
    );
  });

  /** Makes a controller whose 50 objects record an Event each, and a client that takes 140 ms for each. */
  function talkative(): { readonly client: ResourceClient; readonly talking: Controller; readonly written: string[] } {
    const written: string[] = [];
    const create = async (_resource: Resource, object: { readonly message?: string }, { signal }: CallOptions = {}) => {
      await delay(clock, 140, signal);
      written.push(object.message ?? '');
      return object;
    };
    const talking = controller(testConfigMaps).reconcile(async ({ metadata }, { event }) =>
      event('Normal', 'Seen', `${metadata?.name}`),
    );
    for (let i = 0; i < 50; i++) maps.add(configMap({ name: `m${i}` }));
    return { client: { ...sources, create } as unknown as ResourceClient, talking, written };
  }

  it('writes within the grace period all events that wait, and is not ready meanwhile', async () => {
    const { client, talking, written } = talkative();
    const manager = new Manager([talking], { client, clock, metrics: { port: 0 }, logger: silentLogger });
    const ended = manager.run(stop.signal);
    await manager.whenReady();
    await clock.advance(0);
    const readyz = async () => (await fetch(`http://127.0.0.1:${manager.probePort}/readyz`)).status;
    expect(await readyz()).toBe(200);
    stop.abort();
    expect(await readyz()).toBe(503);
    await clock.advance(10_000);
    await ended;
    expect(written).toHaveLength(50);
  });

  it('counts the events that it did not write in the grace period', async () => {
    const { client, talking, written } = talkative();
    const ended = run(talking, { client });
    await clock.advance(0);
    stop.abort();
    await clock.advance(10_000);
    await ended;
    expect(written).toHaveLength(14);
    expect(warnings).toEqual(['events were not written before the end { component: configmap, events: 36 }']);
  });

  it('does not wait for events that nobody takes', async () => {
    const { talking } = talkative();
    const create = (_resource: Resource, _object: unknown, { signal }: CallOptions = {}) =>
      delay(clock, 60_000, signal);
    const ended = run(talking, { client: { ...sources, create } as unknown as ResourceClient, gracePeriodMs: 30_000 });
    await clock.advance(0);
    stop.abort();
    await clock.advance(2000);
    expect(await ended).toBeUndefined();
    expect(warnings).toEqual(['events were not written before the end { component: configmap, events: 50 }']);
  });

  it('writes what events wait before it gives the lease back', async () => {
    const log: string[] = [];
    const leases = new Map<string, unknown>();
    const slow = async (
      resource: Resource,
      object: { readonly message?: string; readonly spec?: LogFields },
      { beforeAttempt = () => undefined }: CallOptions = {},
    ) => {
      // Waits a turn, like a client that first gets its credentials.
      await Promise.resolve();
      beforeAttempt();
      if (resource.kind === Event.kind) {
        await new Promise<void>((resolve) => clock.setTimer(resolve, 100));
        log.push(object.message ?? '');
      } else {
        leases.set('x', object);
        if (object.spec?.holderIdentity === '') log.push('lease given back');
      }
      return object;
    };
    const get = async () => {
      if (!leases.has('x')) throw missing;
      return leases.get('x');
    };
    const client = { ...sources, create: slow, update: slow, get } as unknown as ResourceClient;
    const talking = controller(testConfigMaps).reconcile(async (_object, { event }) => {
      for (const word of ['one', 'two']) event('Normal', 'Said', word);
    });
    const ended = run(talking, { client, leaderElection: { name: 'x', identity: 'me' } });
    maps.add(configMap({ name: 'a' }));
    await settle();
    stop.abort();
    await clock.advance(5000);
    expect(await ended).toBeUndefined();
    expect(log.slice(0, 4)).toEqual(['me became leader', 'one', 'two', 'lease given back']);
    // The process may no longer write for its controllers, but it may record that it stopped leading.
    expect(log.slice(4)).toEqual(['me stopped leading']);
    expect(warnings).toEqual([]);
  });
});

describe('the inspector of a manager', () => {
  const copying = controller(testConfigMaps).reconcile(async ({ metadata }) => {
    if (metadata.name === 'bad') throw new Error('no');
  });
  /** Runs a manager until it is ready. */
  async function inspected(options: Partial<ManagerOptions>, one: Controller = copying) {
    const client = sources as unknown as ResourceClient;
    const manager = new Manager([one], { client, clock, gracePeriodMs: 1000, logger: silentLogger, ...options });
    const ended = manager.run(stop.signal);
    await manager.whenReady();
    await settle();
    const read = async <T = Overview>(path: string): Promise<{ readonly status: number; readonly json: T }> => {
      const answer = await fetch(new URL(`v1/${path}`, manager.inspectorUrl));
      return { status: answer.status, json: (answer.ok ? await answer.json() : undefined) as T };
    };
    return { manager, ended, read };
  }

  it('is served beside /metrics, and says why a key fails and when it comes back', async () => {
    maps.add(configMap({ name: 'bad', resourceVersion: '5' }));
    const { manager, ended, read } = await inspected({ metrics: { port: 0 }, inspect: true });
    expect(manager.inspectorUrl).toBe(`http://localhost:${manager.probePort}/inspect/`);
    const { json } = await read('key?controller=configmap&key=default%2Fbad');
    expect(json).toMatchObject({
      state: 'delayed',
      failures: 1,
      dueAt: expect.any(Number),
      runs: [{ result: 'failed', error: 'Error', causes: { items: [{ type: 'listed', object: { name: 'bad' } }] } }],
    });
    const { sections } = (await read('overview')).json;
    expect(sections.informers?.items[0]).toMatchObject({ kind: 'ConfigMap', phase: 'live', objects: 1, relists: 0 });
    expect(sections.queues?.items[0]).toMatchObject({
      runs: 1,
      failures: 1,
      failing: { total: 1 },
      delayed: { total: 1 },
    });
    stop.abort();
    await clock.advance(5000);
    await ended;
  });

  it('shows texts of errors where somebody asks for them', async () => {
    maps.add(configMap({ name: 'bad', resourceVersion: '5' }));
    const { ended, read } = await inspected({ metrics: { port: 0 }, inspect: { errorTexts: true } });
    const { json } = await read('key?controller=configmap&key=default%2Fbad');
    expect(json).toMatchObject({ runs: [{ result: 'failed', error: 'no' }] });
    stop.abort();
    await clock.advance(5000);
    await ended;
  });

  it('has a port of its own at 127.0.0.1 where there is no /metrics', async () => {
    const { manager, ended, read } = await inspected({ inspect: true });
    expect([manager.inspectorUrl, manager.probePort]).toEqual([
      expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\//),
      undefined,
    ]);
    expect((await read('overview')).status).toBe(200);
    stop.abort();
    await clock.advance(5000);
    await ended;
    await expect(read('overview')).rejects.toThrow();
  });

  it('is not there unless it was asked for', async () => {
    const { manager, ended } = await inspected({ metrics: { port: 0 } });
    expect(manager.inspectorUrl).toBeUndefined();
    expect((await fetch(`http://127.0.0.1:${manager.probePort}/inspect/`)).status).toBe(404);
    stop.abort();
    await clock.advance(5000);
    await ended;
  });

  it('gives keys in pages, and refuses what it does not know', async () => {
    for (let index = 0; index < 5; index++) maps.add(configMap({ name: `m-${index}` }));
    const { ended, read } = await inspected({ inspect: true });
    const first = (await read<KeyList>('keys?controller=configmap&limit=2')).json;
    expect(first).toMatchObject({
      total: 5,
      items: [{ key: 'default/m-0' }, { key: 'default/m-1' }],
      continue: 'default/m-1',
    });
    const last = (await read<KeyList>('keys?controller=configmap&limit=4&continue=default%2Fm-1')).json;
    expect([last.items.length, last.continue]).toEqual([3, undefined]);
    for (const query of ['keys?controller=none', 'key?controller=configmap&key=none'])
      expect((await read(query)).status).toBe(404);
    expect((await read('keys?controller=configmap&state=odd')).status).toBe(400);
    stop.abort();
    await clock.advance(5000);
    await ended;
  });

  it('shows counts alone of a controller of Secrets', async () => {
    maps.add({ ...configMap({ name: 'db-password' }), kind: 'Secret' });
    const secrets = controller(Secret).reconcile(async () => {
      throw new Error('no');
    });
    const { ended, read } = await inspected({ inspect: true }, secrets as unknown as Controller);
    const { json } = await read('overview');
    expect(json.sections.queues?.items[0]).toMatchObject({ hidesKeys: true, failing: { total: 1, items: [] } });
    expect(JSON.stringify(json)).not.toContain('db-password');
    expect((await read('key?controller=secret&key=default%2Fdb-password')).status).toBe(404);
    stop.abort();
    await clock.advance(5000);
    await ended;
  });

  it.each([
    [5, 'inspect, such as true or { port: 8081 }, must be an object, not 5'],
    [{ port: -1 }, 'inspect.port must be a whole number from 0 to 65535, not -1'],
  ])('refuses %j', (inspect, message) => {
    expect(
      () => new Manager([copying], { client: sources as unknown as ResourceClient, inspect: inspect as never }),
    ).toThrow(message);
  });
});

describe('a manager that is made wrongly', () => {
  const client = sources as unknown as ResourceClient;

  it.each([
    ['a builder', [controller(testConfigMaps)], 'a controller must end with .reconcile(…)'],
    ['undefined', [undefined], 'a controller must end with .reconcile(…)'],
    ['nothing', [], 'there is no controller to run'],
    ['two of one name', [idle, idle], 'two controllers are named configmap'],
  ])('refuses %s', (_what, controllers, message) => {
    expect(() => new Manager(controllers as unknown as Controller[], { client })).toThrow(TypeError);
    expect(() => new Manager(controllers as unknown as Controller[], { client })).toThrow(message);
  });

  it.each([
    ['an election without a name', { leaderElection: {} }, "leaderElection takes { name }, the Lease's, not {}"],
    ['an election that is true', { leaderElection: true }, "leaderElection takes { name }, the Lease's, not true"],
    [
      'a logger without all its levels',
      { logger: { error: () => undefined } },
      'logger needs the function debug, it is an object',
    ],
    ['a namespace without a list', { namespaces: 'default' }, "namespaces takes a list of names, not 'default'"],
    ['namespaces that are no names', { namespaces: [5] }, 'namespaces takes a list of names, not [ 5 ]'],
  ])('refuses %s', (_what, options, message) => {
    expect(() => new Manager([idle], { client, ...options } as unknown as ManagerOptions)).toThrow(
      new TypeError(message),
    );
  });

  it.each(['gracePeriodMs', 'ownWritesTimeoutMs', 'cacheSyncTimeoutMs'])('refuses a negative %s', (name) => {
    expect(() => new Manager([idle], { client, [name]: -1 })).toThrow(
      new TypeError(`${name} must be a number of at least 0, not -1`),
    );
  });
});
