import { type ObjectName, type Resource, type ResourceClient, silentLogger } from '@kapstan/api';
import { configMap, FakeListerWatcher, type TestConfigMap, testConfigMaps, VirtualClock } from '@kapstan/api/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import { Manager } from '../manager/manager.ts';
import { type ControllerBuilder, controller, requeueAfter } from './controller-builder.ts';
import type { GoneHandler } from './gone.ts';

let clock: VirtualClock;
let maps: FakeListerWatcher<TestConfigMap>;
let stop: AbortController;
let told: string[];
let reconciled: string[];
beforeEach(() => {
  clock = new VirtualClock();
  maps = new FakeListerWatcher();
  stop = new AbortController();
  told = [];
  reconciled = [];
});

const tell: GoneHandler = async ({ namespace, name }: ObjectName) => void told.push(`${namespace}/${name}`);

/** Runs the controller that the function describes; `end` stops it. */
async function run(describe: (builder: ControllerBuilder<TestConfigMap>) => ControllerBuilder<TestConfigMap>) {
  const base = controller<TestConfigMap>(testConfigMaps as Resource<TestConfigMap>);
  const one = describe(base).reconcile(async ({ metadata }) => void reconciled.push(metadata.name));
  const client = { listerWatcher: () => maps } as unknown as ResourceClient;
  const running = new Manager([one], { client, clock, logger: silentLogger, gracePeriodMs: 100 }).run(stop.signal);
  await clock.advance(0);
  return async () => {
    stop.abort();
    await clock.advance(5000);
    await running;
  };
}

describe('gone() of a controller', () => {
  it('is called with the name of an object that was deleted, and not for one that is there', async () => {
    maps.add(configMap({ name: 'a' }));
    const end = await run((builder) => builder.gone(tell));
    expect([reconciled, told]).toEqual([['a'], []]);
    maps.delete({ namespace: 'default', name: 'a' });
    await clock.advance(100);
    expect([reconciled, told]).toEqual([['a'], ['default/a']]);
    await end();
  });

  it('is called for a name that a mapping gives, when there is no such object', async () => {
    const end = await run((builder) => builder.on(['default/never'], (key) => [key]).gone(tell));
    await clock.advance(100);
    expect(told).toEqual(['default/never']);
    await end();
  });

  it('is called again with backoff after a rejection, and later when it asks for that', async () => {
    const attempts: number[] = [];
    const gone: GoneHandler = async (_target, { attempt }) => {
      attempts.push(attempt);
      if (attempts.length === 1) throw new Error('not yet');
      return attempts.length === 2 ? requeueAfter(60_000) : undefined;
    };
    const end = await run((builder) => builder.on(['default/a'], (key) => [key]).gone(gone));
    await clock.advance(1000);
    expect(attempts).toEqual([0, 1]);
    await clock.advance(60_000);
    expect(attempts).toHaveLength(3);
    await end();
  });

  it('is not called for an object that came back before its key was worked on', async () => {
    maps.add(configMap({ name: 'a' }));
    const end = await run((builder) => builder.gone(tell));
    maps.delete({ namespace: 'default', name: 'a' });
    maps.add(configMap({ name: 'a' }));
    await clock.advance(100);
    expect([reconciled.length > 1, told]).toEqual([true, []]);
    await end();
  });

  it('is refused twice, and as anything but a function', () => {
    const base = controller(testConfigMaps);
    expect(() => base.gone(tell).gone(tell)).toThrow(new TypeError('gone() is given twice'));
    expect(() => base.gone(undefined as never)).toThrow(new TypeError('gone() takes a function, not undefined'));
  });
});
