import { type ResourceClient, silentLogger } from '@kapstan/api';
import { configMap, FakeListerWatcher, type TestConfigMap, testConfigMaps, VirtualClock } from '@kapstan/api/testing';
import { describe, expect, it } from 'vitest';
import { controller } from '../builder/controller-builder.ts';
import { Manager } from '../manager/manager.ts';
import { BucketRateLimiter, type RateLimiterSetting } from './index.ts';

function start(rateLimiter: RateLimiterSetting<string>) {
  const clock = new VirtualClock();
  const maps = new FakeListerWatcher<TestConfigMap>();
  maps.add(configMap({ name: 'a' }));
  const stop = new AbortController();
  const runs: number[] = [];
  const failing = controller(testConfigMaps)
    .settings({ rateLimiter })
    .reconcile(async () => {
      runs.push(clock.now());
      throw new Error('again');
    });
  const client = { listerWatcher: () => maps } as unknown as ResourceClient;
  const manager = new Manager([failing], { client, clock, logger: silentLogger, gracePeriodMs: 100 });
  return { clock, runs, manager, stop };
}

describe('a rate limiter of the settings', () => {
  it('is made on the clock of the manager where the setting is a function, so virtual time moves it', async () => {
    const { clock, runs, manager, stop } = start(
      (given) => new BucketRateLimiter({ perSecond: 1, burst: 1, clock: given }),
    );
    const ended = manager.run(stop.signal);
    await clock.advance(0);
    await clock.advance(60_000);
    expect(runs.length).toBeGreaterThan(58);
    expect(runs.length).toBeLessThan(64);
    stop.abort();
    await clock.advance(5000);
    await ended;
  });

  it('is refused where the function makes none', () => {
    expect(() => start((() => undefined) as never)).toThrow(TypeError);
  });
});
