import type { ResourceClient } from '@kapstan/api';
import { testConfigMaps, VirtualClock } from '@kapstan/api/testing';
import { Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { controller } from '../builder/controller-builder.ts';
import { InformerCache } from '../cache/informer-cache.ts';
import { ObservedClient } from '../cache/observed-client.ts';
import { EventCorrelator } from '../events/event-correlator.ts';
import { EventRecorder } from '../events/event-recorder.ts';
import { LeaderElector } from '../leader-election/leader-elector.ts';
import { installDefinitions } from '../manager/install-definitions.ts';
import { Manager } from '../manager/manager.ts';
import { ControllerMetrics } from '../metrics/controller-metrics.ts';
import { ReconcileLoop } from '../reconcile/reconcile-loop.ts';
import {
  BucketRateLimiter,
  DelayingQueue,
  defaultControllerRateLimiter,
  ExponentialFailureRateLimiter,
  FastSlowRateLimiter,
  MaxOfRateLimiter,
  MaxWaitRateLimiter,
  RateLimitingQueue,
  WorkQueue,
} from '../workqueue/index.ts';

const call = async (): Promise<undefined> => undefined;
const client = { get: call, create: call, update: call, patch: call } as unknown as ResourceClient;
const queue = new RateLimitingQueue<string>();
const rateLimiter = new ExponentialFailureRateLimiter<string>({ baseMs: 1, maxMs: 5 });
const lock = { client, name: 'lock', namespace: 'ns' };
const recorder = { client, component: 'c' };

const misspelt: readonly (readonly [make: (options: never) => unknown, options: object, message: string])[] = [
  [
    (options) => new WorkQueue(options),
    { priorities: {} },
    'a WorkQueue: unknown option "priorities"; it takes name, priority',
  ],
  [(options) => new WorkQueue(options), { rateLimiter }, 'a WorkQueue: unknown option "rateLimiter"; it takes name,'],
  [(options) => new WorkQueue(options), { priority: { aging: 5 } }, 'options of priorities: unknown option "aging"'],
  [(options) => new DelayingQueue(options), { names: 'a' }, 'a DelayingQueue: unknown option "names"; did you me'],
  [(options) => new RateLimitingQueue(options), { ratelimiter: rateLimiter }, 'did you mean "rateLimiter"?'],
  [
    (options) => new ReconcileLoop(options),
    { queue, reconcile: call, worker: 3 },
    'a ReconcileLoop: unknown option "worker"; did you mean "workers"?',
  ],
  [
    (options) => new LeaderElector(options),
    { ...lock, leaseDuration: 5 },
    'a LeaderElector: unknown option "leaseDuration"; did you mean "leaseDurationMs"?',
  ],
  [(options) => new EventRecorder(options), { ...recorder, hots: '' }, 'an EventRecorder: unknown option "hots"'],
  [(options) => new EventCorrelator(options), { burst: 5 }, 'an EventCorrelator: unknown option "burst"; it takes'],
  [(options) => new ControllerMetrics(options), { registery: {} }, 'unknown option "registery"; did you mean "regi'],
  [(options) => new ObservedClient(options), { client, admits: call }, 'unknown option "admits"; did you mean "a'],
  [
    (options) => new ExponentialFailureRateLimiter(options),
    { baseMs: 1, maxMs: 5, max: 5 },
    'an ExponentialFailureRateLimiter: unknown option "max"',
  ],
  [
    (options) => new FastSlowRateLimiter(options),
    { fastMs: 1, slowMs: 2, maxFastAttempts: 1, slow: 1 },
    'a FastSlowRateLimiter: unknown option "slow"',
  ],
  [
    (options) => new BucketRateLimiter(options),
    { perSecond: 1, burst: 1, bursts: 1 },
    'a BucketRateLimiter: unknown option "bursts"',
  ],
  [
    (options) => new MaxWaitRateLimiter(rateLimiter, options),
    { maxMs: 1, max: 1 },
    'a MaxWaitRateLimiter: unknown option "max"',
  ],
];

describe('an option that nobody knows is refused at once', () => {
  it.each(misspelt.map(([make, options, message]) => [message, make, options] as const))(
    '%s',
    (message, make, options) => {
      expect(() => make(options as never)).toThrow(TypeError);
      expect(() => make(options as never)).toThrow(message);
    },
  );

  it('of an installation, as its rejection', async () => {
    const installed = installDefinitions([], { client, fieldManager: 'a', timeout: 5 } as never);
    await expect(installed).rejects.toThrow(
      new TypeError('installDefinitions(): unknown option "timeout"; did you mean "timeoutMs"?'),
    );
  });

  it('but an instance of a class may have members that its methods read', () => {
    class Work {
      readonly queue = queue;
      readonly done: string[] = [];
      async reconcile({ key }: { readonly key: string }): Promise<undefined> {
        this.done.push(key);
      }
    }
    expect(() => new ReconcileLoop(new Work())).not.toThrow();
  });

  it('and a class over a queue may take more', () => {
    class OwnQueue extends WorkQueue<string> {}
    expect(new OwnQueue({ name: 'own', shards: 2 } as never).name).toBe('own');
  });

  it('and one that is undefined counts as absent', () => {
    expect(new WorkQueue({ name: 'a', priorities: undefined } as never).name).toBe('a');
  });
});

describe('a part that is given nothing, or something else', () => {
  it.each<[string, () => unknown, string]>([
    ['an elector', () => new LeaderElector(undefined as never), 'options of a LeaderElector must be an object, not un'],
    ['a recorder', () => new EventRecorder(undefined as never), 'options of an EventRecorder must be an object, not '],
    ['a client', () => new ObservedClient(undefined as never), 'options of an ObservedClient must be an object, not '],
    [
      'a cache',
      () => new InformerCache({ listerWatcher: call } as never, 5 as never),
      'options of an InformerCache must',
    ],
    ['metrics', () => new ControllerMetrics(null as never), 'options of ControllerMetrics must be an object, not null'],
    ['a registry', () => new ControllerMetrics({ registry: {} as never }), 'registry needs the function registerMet'],
    [
      'an exponential limiter',
      () => new ExponentialFailureRateLimiter(undefined as never),
      'options of an ExponentialFailureRateLimiter must be an object, not undefined',
    ],
    ["client-go's arguments", () => new ExponentialFailureRateLimiter(5 as never), 'must be an object, not 5'],
    ['a bucket', () => new BucketRateLimiter(undefined as never), 'options of a BucketRateLimiter must be an object'],
    ['half a bucket', () => new BucketRateLimiter({ perSecond: 10 } as never), 'burst must be a number of at least 0'],
    ['a rate as text', () => new BucketRateLimiter({ perSecond: '9' as never, burst: 1 }), 'perSecond must be a numb'],
    ['a fast one', () => new FastSlowRateLimiter(undefined as never), 'options of a FastSlowRateLimiter must be an o'],
    ['a longest wait', () => new MaxWaitRateLimiter(rateLimiter, undefined as never), 'options of a MaxWaitRateLimit'],
    ['a most of one', () => new MaxOfRateLimiter(rateLimiter as never), 'a MaxOfRateLimiter takes a list, not '],
    ['a most of none', () => new MaxOfRateLimiter(undefined as never), 'a MaxOfRateLimiter takes a list, not undefin'],
    ['a spam key', () => new EventCorrelator({ spamKey: 'a' as never }), 'spamKey must be a function, not "a"'],
    ['a size', () => new EventCorrelator({ cacheSize: '9' as never }), 'cacheSize must be a number of at least 0'],
    ['no burst', () => new EventCorrelator({ spamBurst: 0 }), 'burst must be at least 1, got 0'],
  ])('is refused at once: %s', (_what, make, message) => {
    expect(make).toThrow(TypeError);
    expect(make).toThrow(message);
  });

  it('has the real clock where none is given', () => {
    expect(new BucketRateLimiter({ perSecond: 10, burst: 2 }).when('a')).toBe(0);
    expect(defaultControllerRateLimiter().when('a')).toBe(5);
    expect(() => new EventCorrelator()).not.toThrow();
    expect(new ControllerMetrics({ registry: new Registry(), clock: new VirtualClock() }).registry).toBeDefined();
  });

  it('calls a spam key as the method of its options', () => {
    const keys: string[] = [];
    const options = {
      spamKey(): string {
        keys.push(this === options ? 'own' : 'another');
        return 'k';
      },
    };
    const involvedObject = { apiVersion: 'v1', kind: 'Pod', name: 'a' };
    const draft = { type: 'Normal', reason: 'R', message: 'm', component: 'c', host: '', recordedAtMs: 0 } as const;
    new EventCorrelator(options).correlate({ ...draft, involvedObject });
    expect(keys).toEqual(['own']);
  });

  it.each<[string, object, string]>([
    ['namespaces', { namespaces: ['a'] }, 'informers takes no namespaces: it is an option next to informers'],
    ['a clock', { clock: new VirtualClock() }, 'informers takes no clock: it is an option next to informers'],
    ['one namespace', { namespace: 'a' }, 'informers of a cache take no namespace: namespaces says where it looks'],
    ['what is served', { isServed: () => true }, 'informers of a cache take no isServed: it waits for kinds that'],
  ])(
    'is what a manager hands on to its informers, which would be ignored or half obeyed: %s',
    (_what, informers, message) => {
      const idle = controller(testConfigMaps).reconcile(call);
      const make = () => new Manager([idle], { client: { ...client, listerWatcher: call } as never, informers });
      expect(make).toThrow(TypeError);
      expect(make).toThrow(message);
    },
  );

  it('is a setting of priorities of a controller', () => {
    expect(() => controller(testConfigMaps).settings({ priorityQueue: { aging: 5 } as never })).toThrow(
      new TypeError('options of priorities: unknown option "aging"; did you mean "agingMs"?'),
    );
  });
});

it('a key that a queue refuses is no try for its rate limiter', () => {
  const asked: unknown[] = [];
  const noting = { when: (key: unknown) => asked.push(key), forget: () => undefined, numRequeues: () => 0 };
  const of = new RateLimitingQueue<string>({ clock: new VirtualClock(), rateLimiter: noting });
  expect(() => of.addRateLimited(undefined as never)).toThrow(TypeError);
  of.addRateLimited('a');
  expect(asked).toEqual(['a']);
});
