import { once } from 'node:events';
import { type LogFields, type ResourceClient, silentLogger } from '@kapstan/api';
import {
  configMap,
  FakeListerWatcher,
  settle,
  type TestConfigMap,
  testConfigMaps,
  VirtualClock,
} from '@kapstan/api/testing';
import { Observable, Subject } from 'rxjs';
import { beforeEach, describe, expect, it } from 'vitest';
import { type Controller, controller } from './builder/controller-builder.ts';
import { anyOf, notPredicate } from './builder/predicate.ts';
import { Manager } from './manager/manager.ts';
import type { ManagerOptions } from './manager/manager-options.ts';
import { RateLimitingQueue } from './workqueue/index.ts';

let clock: VirtualClock;
let source: FakeListerWatcher<TestConfigMap>;
let stop: AbortController;
let told: string[];
beforeEach(() => {
  clock = new VirtualClock();
  source = new FakeListerWatcher();
  stop = new AbortController();
  told = [];
});

function broken(): never {
  throw new Error('mine');
}

function rejecting(): never {
  return Promise.reject(new Error('mine')) as never;
}

function run(one: Controller, options: Partial<ManagerOptions> = {}): Promise<void> {
  const client = { listerWatcher: () => source } as unknown as ResourceClient;
  const error = (message: string, { error: thrown }: LogFields = {}): void =>
    void told.push(`${message}: ${(thrown as Error | undefined)?.message}`);
  return new Manager([one], { client, clock, logger: { ...silentLogger, error }, ...options }).run(stop.signal);
}

describe('a controller whose callbacks fail', () => {
  // Each unhandled rejection would end the process and with it the tests.
  it('loses no change by predicates, priorities and maps that reject', async () => {
    const runs: unknown[] = [];
    const trigger = new Subject<string>();
    const one = controller(testConfigMaps)
      .when(rejecting)
      .when(anyOf(() => false, notPredicate(rejecting)))
      .watches(testConfigMaps, rejecting)
      .on(trigger, rejecting)
      .settings({ priority: rejecting })
      .reconcile(async ({ metadata }) => void runs.push(metadata?.name));
    const running = run(one);
    source.add(configMap({ name: 'a' }));
    await settle();
    trigger.next('x');
    await settle();
    stop.abort();
    await running;
    const must = 'must be there at once, it is a promise';
    expect(runs).toEqual(['a']);
    expect(told).toEqual([
      `a predicate failed; the change is accepted: the answer of a predicate ${must}`,
      `the priority function failed; the default priority is used: a priority ${must}`,
      `a change could not be mapped to keys; it is dropped: a list of keys ${must}`,
      // This line comes from the watched source.
      `the priority function failed; the default priority is used: a priority ${must}`,
      `a value could not be mapped to keys; it is dropped: a list of keys ${must}`,
    ]);
  });

  it('goes on, keeps its time limit and ends in peace, with a logger that throws', async () => {
    const runs: unknown[] = [];
    const warned = once(process, 'warning');
    const one = controller(testConfigMaps)
      .when(broken)
      .settings({ timeoutMs: 1000, slowAfterMs: 500 })
      .reconcile(async ({ metadata }, { signal, log }) => {
        runs.push(metadata?.name);
        log.info('mine');
        await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
        runs.push('aborted');
      });
    const running = run(one, { logger: { debug: broken, info: broken, warn: broken, error: broken } });
    source.add(configMap({ name: 'a' }));
    await clock.advance(1000);
    stop.abort();
    await running;
    expect(runs).toEqual(['a', 'aborted']);
    expect(await warned).toMatchObject([{ message: 'mine' }]);
  });

  it('ends in peace, and the other triggers with it, where a trigger cannot be ended', async () => {
    const other = new Subject<string>();
    const one = controller(testConfigMaps)
      .on(new Observable<string>(() => broken), () => [])
      .on(other, () => [])
      .reconcile(async () => undefined);
    const running = run(one);
    await settle();
    expect(other.observed).toBe(true);
    stop.abort();
    await running;
    expect(other.observed).toBe(false);
    expect(told).toEqual([expect.stringContaining('a trigger failed to unsubscribe: ')]);
  });
});

it.each([
  ['throws', broken],
  ['rejects', rejecting],
])('a queue loses no key by an observer that %s, which is a warning of the process', async (_, fail) => {
  const warned = once(process, 'warning');
  const observer = { added: fail, raised: fail, started: fail, finished: fail, retried: fail };
  const queue = new RateLimitingQueue<string>({ clock, priority: {}, observer });
  queue.add('a');
  queue.add('a', 1);
  expect(await queue.get()).toBe('a');
  queue.addAfter('a', 0);
  queue.done('a');
  expect(await queue.get()).toBe('a');
  queue.done('a');
  expect([queue.length, queue.processing]).toEqual([0, 0]);
  expect(await warned).toMatchObject([{ message: 'mine' }]);
});
