import { type LogFields, type ResourceClient, silentLogger } from '@kapstan/api';
import { FakeListerWatcher, settle, testConfigMaps, VirtualClock } from '@kapstan/api/testing';
import { describe, expect, it } from 'vitest';
import { controller, requeueAfter } from './builder/controller-builder.ts';
import { allOf, anyOf, notPredicate } from './builder/predicate.ts';
import { InformerCache } from './cache/informer-cache.ts';
import { EventRecorder } from './events/event-recorder.ts';
import { installDefinitions } from './manager/install-definitions.ts';
import { Manager } from './manager/manager.ts';
import { ReconcileLoop } from './reconcile/reconcile-loop.ts';
import { run } from './run.ts';
import {
  DelayingQueue,
  ExponentialFailureRateLimiter,
  FastSlowRateLimiter,
  MaxOfRateLimiter,
  MaxWaitRateLimiter,
  RateLimitingQueue,
  WorkQueue,
} from './workqueue/index.ts';

const idle = controller(testConfigMaps).reconcile(async () => undefined);
const client = { listerWatcher: () => new FakeListerWatcher() } as unknown as ResourceClient;

describe('a run with a signal that is none', () => {
  it.each([
    ['an AbortController', new AbortController()],
    ['an object', {}],
    ['null', null],
    ['a number', 5],
  ])('rejects at once, and leaves no timer: %s', async (_, signal) => {
    const clock = new VirtualClock();
    const manager = new Manager([idle], { client, clock, logger: silentLogger });
    const message = 'signal takes an AbortSignal, such as that of an AbortController, not ';
    await expect(manager.run(signal as never)).rejects.toThrow(message);
    await expect(run(idle, { client, clock, logger: silentLogger, signal: signal as never })).rejects.toThrow(message);
    expect(clock.pendingTimers).toBe(0);
  });
});

it.each([{ kubeconfig: '/nowhere' }, { context: 'c' }, { inCluster: false }])(
  'a run with a client refuses to look for another one: %o',
  async (source) => {
    await expect(run(idle, { client, signal: AbortSignal.abort(), ...source })).rejects.toThrow(
      new TypeError('client may not be combined with kubeconfig, context or inCluster'),
    );
  },
);

describe('a controller that is described wrongly', () => {
  const base = controller(testConfigMaps);
  const limiter = { when: () => 0, forget: () => undefined };
  it.each<[string, () => unknown, string]>([
    [
      'options in words',
      () => controller(testConfigMaps, 'name' as never),
      'options of a controller must be an object',
    ],
    [
      'options that are null',
      () => controller(testConfigMaps, null as never),
      'options of a controller must be an obje',
    ],
    ['a name of 129', () => controller(testConfigMaps, { name: 'n'.repeat(129) }), 'has 1 to 128 printable characters'],
    ['a name of 65 umlauts', () => controller(testConfigMaps, { name: 'ä'.repeat(65) }), 'has 1 to 128 printable'],
    ['a name of two lines', () => controller(testConfigMaps, { name: 'a\nb' }), "unlike 'a\\nb'"],
    ['a name that is a number', () => controller(testConfigMaps, { name: 5 as never }), 'unlike 5'],
    ['settings that are a number', () => base.settings(5 as never), 'settings must be an object, not 5'],
    ['settings that are null', () => base.settings(null as never), 'settings must be an object, not null'],
    ['workers as text', () => base.settings({ workers: '2' as never }), "at least 1, not '2'"],
    ['a time as text', () => base.settings({ timeoutMs: '5' as never }), 'timeoutMs must be a number of at least 0'],
    ['no limiter', () => base.settings({ rateLimiter: {} as never }), 'rateLimiter needs the function when'],
    ['half a limiter', () => base.settings({ rateLimiter: limiter as never }), 'needs the function numRequeues'],
    ['aging below 0', () => base.settings({ priorityQueue: { agingMs: -1 } }), 'agingMs must be above 0, not -1'],
    [
      'aging as text',
      () => base.settings({ priorityQueue: { agingMs: '9' as never } }),
      "agingMs must be above 0, not '9'",
    ],
    ['true for priorities', () => base.settings({ priorityQueue: true as never }), 'must be an object, not true'],
    ['a priority', () => base.settings({ priority: 5 as never }), 'priority must be a function, not 5'],
    ['onOutcome', () => base.settings({ onOutcome: {} as never }), 'onOutcome must be a function, not an object'],
    [
      'a bare predicate',
      () => base.owns(testConfigMaps, (() => true) as never),
      'options of owns(), such as { when },',
    ],
    ['options of watches()', () => base.watches(testConfigMaps, () => [], 5 as never), 'options of watches(), such as'],
    ['what is not', () => notPredicate(undefined as never), 'a predicate must be a function, not undefined'],
    ['a misspelt option', () => controller(testConfigMaps, { nam: 'a' } as never), 'did you mean "name"?'],
    ['a misspelt setting', () => base.settings({ worker: 2 } as never), 'settings(): unknown option "worker"; did you'],
    ['a misspelt option of owns()', () => base.owns(testConfigMaps, { wen: () => true } as never), 'mean "when"?'],
    [
      'a trigger of nothing',
      () => base.on(undefined as never, () => []),
      'on() takes an observable, a promise or an a',
    ],
    ['all of true', () => allOf(true as never), 'a predicate must be a function, not true'],
    ['any of a list', () => anyOf([() => true] as never), 'a predicate must be a function, not a list'],
  ])('is refused at once: %s', (_what, make, message) => {
    expect(make).toThrow(TypeError);
    expect(make).toThrow(message);
  });

  it('takes a name of 128 characters, also of other scripts and with blanks', () => {
    for (const name of ['n'.repeat(128), 'ä'.repeat(64), 'Mein Dienst'])
      expect(controller(testConfigMaps, { name }).reconcile(async () => undefined).name).toBe(name);
  });
});

describe('a manager with wrong options', () => {
  const manager = (options: object): unknown => new Manager([idle], { client, logger: silentLogger, ...options });
  const port = (value: unknown): unknown => manager({ metrics: { port: value } });
  const range = (value: string): string => `metrics.port must be a whole number from 0 to 65535, not ${value}`;
  it.each<[string, () => unknown, string]>([
    [
      'options that are null',
      () => new Manager([idle], null as never),
      'options of a manager must be an object, not null',
    ],
    [
      'a misspelt option',
      () => manager({ instalCrds: true }),
      'a manager: unknown option "instalCrds"; did you mean "installCrds"?',
    ],
    ['one of metrics', () => manager({ metrics: { port: 0, hots: '' } }), 'metrics: unknown option "hots"; did you me'],
    [
      'one of the election',
      () => manager({ leaderElection: { name: 'a', leaseDuration: 5 } }),
      'leaderElection: unknown option "leaseDuration"; did you mean "leaseDurationMs"?',
    ],
    ['no namespace', () => manager({ namespaces: ['a', 'Bad_NS'] }), "no namespace can be named 'Bad_NS': a lowercase"],
    ['an empty one', () => manager({ namespaces: [''] }), 'namespaces: leave it out for all namespaces'],
    ['one with a dot', () => manager({ namespaces: ['a.b'] }), "can be named 'a.b': must not contain dots"],
    [
      'a controller without a list',
      () => new Manager(idle as never, { client }),
      'a manager takes a list of controllers',
    ],
    ['no client', () => manager({ client: undefined }), 'client needs the function listerWatcher, it is undefined'],
    ['a port beyond all', () => port(70_000), range('70000')],
    ['a port below 0', () => port(-1), range('-1')],
    ['a port as text', () => port('8080'), range("'8080'")],
    ['half a port', () => port(80.5), range('80.5')],
    ['no port', () => manager({ metrics: {} }), range('undefined')],
    ['a port alone', () => manager({ metrics: 8080 }), 'metrics, such as { port: 8080 }, must be an object, not 8080'],
    ['a host', () => manager({ metrics: { port: 0, host: 5 } }), 'metrics.host must be a string, not 5'],
    ['a grace period as text', () => manager({ gracePeriodMs: '5' }), 'gracePeriodMs must be a number of at least 0'],
    [
      'a time that is none',
      () => manager({ cacheSyncTimeoutMs: Number.NaN }),
      'cacheSyncTimeoutMs must be a number of',
    ],
    ['a random number', () => manager({ random: 0.5 }), 'random must be a function, not 0.5'],
    ['a clock', () => manager({ clock: Date }), 'clock needs the function monotonicNow, it is a function'],
    ['a registry', () => manager({ registry: {} }), 'registry needs the function registerMetric, it is an object'],
    ['installCrds as text', () => manager({ installCrds: 'yes' }), "installCrds must be true or false, not 'yes'"],
    ['informers', () => manager({ informers: 5 }), 'informers must be an object, not 5'],
    [
      'a resync of informers',
      () => manager({ informers: { resyncMs: '1h' } }),
      'resyncMs must be a number of at least 0',
    ],
  ])('is refused at once: %s', (_what, make, message) => {
    expect(make).toThrow(TypeError);
    expect(make).toThrow(message);
  });

  it.each<[string, object, string]>([
    ['a name that no Lease may have', { name: 'My Lease' }, 'no Lease can be named My Lease in default: '],
    ['a namespace that is none', { name: 'a', namespace: 'a/b' }, 'no Lease can be named a in a/b: '],
    [
      'a time as text',
      { name: 'a', leaseDurationMs: '15000' },
      'leaseDurationMs must be a number of at least 0, not "15000"',
    ],
    ['an identity', { name: 'a', identity: 5 }, 'identity must be a string, not 5'],
    ['a callback', { name: 'a', onNewLeader: true }, 'onNewLeader must be a function, not true'],
  ])('is refused an election of %s', (_what, leaderElection, message) => {
    const full = { ...client, get: idle.reconcile, create: idle.reconcile, update: idle.reconcile };
    expect(() => manager({ client: full, leaderElection })).toThrow(TypeError);
    expect(() => manager({ client: full, leaderElection })).toThrow(message);
  });

  it('is not run with two sets of options', async () => {
    const runs = run(idle, { client } as never, { client, signal: AbortSignal.abort() });
    await expect(runs).rejects.toThrow(
      new TypeError('run() takes controllers, then one object of options, not several'),
    );
  });
});

describe('a part that is made wrongly', () => {
  const writer = { create: idle.reconcile, patch: idle.reconcile } as never;
  const queue = new RateLimitingQueue<string>();
  const reconcile = async (): Promise<undefined> => undefined;
  it.each<[string, () => unknown, string]>([
    [
      'a recorder without a component',
      () => new EventRecorder({ client: writer } as never),
      'component must be a string',
    ],
    ['one of nobody', () => new EventRecorder({ client: writer, component: '' }), 'component must say who records'],
    [
      'one without a client',
      () => new EventRecorder({ component: 'c' } as never),
      'client of an EventRecorder needs the',
    ],
    ['a loop without a queue', () => new ReconcileLoop({ reconcile } as never), 'queue needs the function get'],
    ['a loop of nothing', () => new ReconcileLoop({ queue } as never), 'reconcile must be a function, not undefined'],
    [
      'a loop without options',
      () => new ReconcileLoop(undefined as never),
      'options of a ReconcileLoop must be an obj',
    ],
    [
      'a loop for ever',
      () => new ReconcileLoop({ queue, reconcile, gracePeriodMs: '1' as never }),
      'gracePeriodMs must',
    ],
    [
      'a loop with a flag',
      () => new ReconcileLoop({ queue, reconcile, abort: true as never }),
      'signal takes an Abort',
    ],
    ['a queue of words', () => new WorkQueue('name' as never), 'options of a queue must be an object, not "name"'],
    ['a queue without its clock', () => new DelayingQueue({ clock: {} as never }), 'clock needs the function now'],
    ['an observer', () => new WorkQueue({ observer: { added: 5 as never } }), 'added must be a function, not 5'],
    [
      'a limiter of a queue',
      () => new RateLimitingQueue({ rateLimiter: {} as never }),
      'rateLimiter needs the function',
    ],
    [
      'a base of a limiter',
      () => new ExponentialFailureRateLimiter({ baseMs: -1, maxMs: 5 }),
      'baseMs must be a number',
    ],
    ['a most of nothing', () => new MaxOfRateLimiter([undefined as never]), 'rateLimiter needs the function when'],
    ['a most of times', () => new MaxWaitRateLimiter(5 as never, { maxMs: 1 }), 'rateLimiter needs the function when'],
    ['attempts', () => new FastSlowRateLimiter({ fastMs: 1, slowMs: 2 } as never), 'maxFastAttempts must be a number'],
  ])('is refused at once: %s', (_what, make, message) => {
    expect(make).toThrow(TypeError);
    expect(make).toThrow(message);
  });

  it.each<[string, (queue: RateLimitingQueue<string>) => void, string]>([
    ['a priority that is none', (of) => of.add('a', Number.NaN), 'a priority must be a whole number, not NaN'],
    ['a priority between two', (of) => of.add('a', 0.5), 'a priority must be a whole number, not 0.5'],
    ['a priority in words', (of) => of.add('a', 'high' as never), "a priority must be a whole number, not 'high'"],
    ['a priority for later', (of) => of.addAfter('a', 5, Number.NaN), 'a priority must be a whole number, not NaN'],
    ['a delay in words', (of) => of.addAfter('a', '5' as never), "a delay must be a number of milliseconds, not '5'"],
    ['no key', (of) => of.add(undefined as never), 'a key must be a string or a number, not undefined'],
    ['an object', (of) => of.add({ a: 1 } as never), 'a key must be a string or a number, not { a: 1 }'],
    ['a number that is none', (of) => of.add(Number.NaN as never), 'a key must be a string or a number, not NaN'],
    ['no key for later', (of) => of.addAfter(null as never, 5), 'a key must be a string or a number, not null'],
    ['no key with a limit', (of) => of.addRateLimited([] as never), 'a key must be a string or a number, not []'],
    ['a delay of a limiter', (of) => of.addRateLimited('a'), 'a delay must be a number of milliseconds, not undefined'],
  ])('is asked of a queue, which refuses it and stays as it was: %s', async (_what, ask, message) => {
    const clock = new VirtualClock();
    const rateLimiter = { when: () => undefined as never, forget: () => undefined, numRequeues: () => 0 };
    const of = new RateLimitingQueue<string>({ clock, priority: {}, rateLimiter });
    of.add('b', 1);
    expect(() => ask(of)).toThrow(new TypeError(message));
    expect([of.length, of.delayed, clock.pendingTimers, await of.get()]).toEqual([1, 0, 0, 'b']);
  });

  it.each([
    [undefined, 'undefined'],
    [5, '5'],
  ])('is the signal of a run that is %s', async (signal, shown) => {
    const message = `signal takes an AbortSignal, such as that of an AbortController, not ${shown}`;
    const loop = new ReconcileLoop({ queue, reconcile });
    await expect(loop.run(signal as never)).rejects.toThrow(new TypeError(message));
    const manager = new Manager([idle], { client, logger: silentLogger });
    await expect(manager.run(signal as never)).rejects.toThrow(new TypeError(message));
  });

  it('is a token without a definition, to be installed', async () => {
    const installed = installDefinitions([testConfigMaps as never], { client, fieldManager: 'a' });
    await expect(installed).rejects.toThrow('installDefinitions() takes resources made with defineResource()');
  });
});

describe('what a reconcile gives', () => {
  it.each([
    ['a time as text', { requeueAfterMs: '50' }],
    ['a time that is none', { requeueAfterMs: Number.NaN }],
    ['for ever', { requeueAfterMs: Number.POSITIVE_INFINITY }],
    ['requeue', { requeue: true }],
    ['requeueAfter', { requeueAfter: 50 }],
    ['a number', 5],
    ['null', null],
    ['requeueAfter itself', requeueAfter],
  ])('is a failure where it is neither nothing nor a time to come back: %s', async (_, result) => {
    const clock = new VirtualClock();
    const rateLimiter = new ExponentialFailureRateLimiter({ baseMs: 10, maxMs: 1000 });
    const queue = new RateLimitingQueue<string>({ clock, rateLimiter });
    const stop = new AbortController();
    const told: LogFields[] = [];
    const logger = { ...silentLogger, error: (_message: string, fields?: LogFields) => void told.push(fields ?? {}) };
    const reconcile = async (): Promise<undefined> => result as unknown as undefined;
    const running = new ReconcileLoop({ queue, reconcile, clock, logger }).run(stop.signal);
    queue.add('n/a');
    await settle();
    expect(told).toEqual([{ key: 'n/a', error: expect.any(TypeError) }]);
    expect(String(told[0]?.error)).toContain('a reconcile gives nothing or requeueAfter(milliseconds), not ');
    expect(queue.numRequeues('n/a')).toBe(1);
    stop.abort();
    await running;
  });
});

describe('a listener to outcomes that is async and fails', () => {
  it('is told of, and costs nothing', async () => {
    const clock = new VirtualClock();
    const queue = new RateLimitingQueue<string>({ clock });
    const stop = new AbortController();
    const told: unknown[] = [];
    const logger = { ...silentLogger, error: (...line: unknown[]) => void told.push(line) };
    const onOutcome = (async () => {
      throw new Error('mine');
    }) as () => void;
    const running = new ReconcileLoop({ queue, reconcile: async () => undefined, clock, logger, onOutcome }).run(
      stop.signal,
    );
    for (const key of ['n/a', 'n/b']) queue.add(key);
    await settle();
    const [message, error] = ['onOutcome failed', new Error('mine')];
    expect(told).toEqual([
      [message, { key: 'n/a', error }],
      [message, { key: 'n/b', error, repeated: 1 }],
    ]);
    stop.abort();
    await running;
  });
});

describe('a cache that is read wrongly', () => {
  const cache = new InformerCache(client);
  cache.informers(testConfigMaps);
  const reader = cache.reader(testConfigMaps);

  it.each([
    ['n/a', "'n/a'"],
    [{ namespace: 'n' }, "{ namespace: 'n' }"],
    [{ namespace: 5, name: 'a' }, "{ namespace: 5, name: 'a' }"],
    [undefined, 'undefined'],
    [null, 'null'],
  ])('refuses a target that names nothing: %o', (target, shown) => {
    expect(() => reader.get(target as never)).toThrow(new TypeError(`get() takes { namespace, name }, not ${shown}`));
  });

  it.each([
    ['n', "'n'"],
    [{ ns: 'n' }, "{ ns: 'n' }"],
    [null, 'null'],
  ])('refuses a selection that would select everything: %o', (options, shown) => {
    expect(() => reader.list(options as never)).toThrow(
      new TypeError(`list() takes { namespace, labelSelector }, not ${shown}`),
    );
  });

  it.each<[string, () => unknown, string]>([
    ['no kind', () => cache.reader(undefined as never), 'a cache takes a resource, such as Pod of'],
    ['a namespace', () => reader.list({ namespace: 5 as never }), 'namespace must be a string, not 5'],
    ['a selector', () => reader.list({ labelSelector: {} as never }), 'labelSelector must be a string, not an object'],
    ['no index', () => reader.byIndex(undefined as never, 'a'), 'the name of an index must be a string, not undefined'],
    ['no value', () => reader.byIndex('i', undefined as never), 'the value of the index i must be a string, not und'],
  ])('refuses what would find nothing, or break: %s', (_what, read, message) => {
    expect(read).toThrow(TypeError);
    expect(read).toThrow(message);
  });
});

describe('a run that is started wrongly', () => {
  const nowhere = { kubeconfig: '/nowhere', signal: AbortSignal.abort() };
  it.each<[string, object, string]>([
    ['an election of true', { leaderElection: true }, "leaderElection takes { name }, the Lease's, not true"],
    ['one of nothing', { leaderElection: {} }, "leaderElection takes { name }, the Lease's, not {}"],
    [
      'a misspelt option',
      { leaderelection: false },
      'run(): unknown option "leaderelection"; did you mean "leaderElec',
    ],
    ['a namespace', { namespaces: ['Bad_NS'] }, "namespaces: no namespace can be named 'Bad_NS': "],
    ['all namespaces', { namespaces: [''] }, 'namespaces: leave it out for all namespaces, "" is none'],
  ])('is told what it wrote, before any cluster is looked for: %s', async (_what, options, message) => {
    const failure: unknown = await run(idle, { ...nowhere, ...options }).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(TypeError);
    expect(String(failure)).toContain(message);
  });
});
