import { delay, type ResourceClient, silentLogger } from '@kapstan/api';
import { configMap, FakeListerWatcher, type TestConfigMap, testConfigMaps, VirtualClock } from '@kapstan/api/testing';
import { expect, it } from 'vitest';
import { controller, requeueAfter } from './builder/controller-builder.ts';
import { Manager } from './manager/manager.ts';
import type { RunnableContext } from './manager/runnables.ts';

const startMs = Date.UTC(2026, 0, 1);

it('reconcile functions, gone() and runnables have the clock of the manager, which a test moves', async () => {
  const clock = new VirtualClock({ startMs });
  const maps = new FakeListerWatcher<TestConfigMap>();
  maps.add(configMap({ name: 'a' }));
  const told: string[] = [];
  const tell = (who: string, nowMs: number): void => void told.push(`${who} ${(nowMs - startMs) / 1000}`);
  const one = controller(testConfigMaps)
    .on(['default/never'], (key) => [key])
    .gone(async (_, ctx) => tell('gone', ctx.clock.now()))
    .reconcile(async (_, ctx) => {
      tell('reconciled', ctx.clock.now());
      await delay(ctx.clock, 30_000, ctx.signal);
      tell('waited', ctx.clock.now());
      return requeueAfter(3_600_000);
    });
  const runnables = [
    {
      name: 'sweeper',
      run: async (ctx: RunnableContext) => {
        await delay(ctx.clock, 60_000, ctx.signal);
        tell('swept', ctx.clock.now());
      },
    },
  ];
  const client = { listerWatcher: () => maps } as unknown as ResourceClient;
  const stop = new AbortController();
  const options = { client, clock, logger: silentLogger, gracePeriodMs: 100, runnables };
  const running = new Manager([one], options).run(stop.signal);
  await clock.advance(3_630_000);
  expect(told).toEqual(['gone 0', 'reconciled 0', 'waited 30', 'swept 60', 'reconciled 3630']);
  stop.abort();
  await clock.advance(5000);
  await running;
});
