import { type LogFields, type ResourceClient, silentLogger } from '@kapstan/api';
import { FakeListerWatcher, settle, testConfigMaps, VirtualClock } from '@kapstan/api/testing';
import { describe, expect, it } from 'vitest';
import { after, controller } from './controller-builder.ts';
import { InformerCache } from './informer-cache.ts';
import { Manager } from './manager.ts';
import { ReconcileLoop } from './reconcile-loop.ts';
import { run } from './run.ts';
import { ExponentialFailureRateLimiter, RateLimitingQueue } from './workqueue/index.ts';

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

describe('what a reconcile gives', () => {
  it.each([
    ['a time as text', { requeueAfterMs: '50' }],
    ['a time that is none', { requeueAfterMs: Number.NaN }],
    ['for ever', { requeueAfterMs: Number.POSITIVE_INFINITY }],
    ['requeue', { requeue: true }],
    ['requeueAfter', { requeueAfter: 50 }],
    ['a number', 5],
    ['null', null],
    ['after itself', after],
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
    expect(String(told[0]?.error)).toContain('a reconcile gives nothing or after(milliseconds), not ');
    expect(queue.numRequeues('n/a')).toBe(1);
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
});
