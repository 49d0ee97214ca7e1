// One test for each problem that authors of controllers report; docs/parity/pains.md lists them. Those that need a
// whole server are in test/reliability.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { KubernetesObject, Resource, ResourceClient } from '@kapstan/api';
import {
  configMap,
  FakeListerWatcher,
  settle,
  type TestConfigMap,
  testConfigMaps,
  testPods,
  VirtualClock,
} from '@kapstan/api/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Controller, controller, requeueAfter } from './builder/controller-builder.ts';
import { generationChanged } from './builder/predicate.ts';
import { Manager } from './manager/manager.ts';
import { RateLimitingQueue, WorkQueue } from './workqueue/index.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** Returns the memory in use without garbage, in MiB. */
function heldMebibytes(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed / 1_048_576;
}

describe('what hurts in Node work queues:', () => {
  it('the queue keeps something for every name that ever was', async () => {
    const clock = new VirtualClock();
    const queue = new RateLimitingQueue<string>({ clock, priority: {} });
    const churn = async (from: number, to: number): Promise<void> => {
      for (let at = from; at < to; at++) {
        queue.add(`namespace/name-${at}`, at % 3);
        const key = (await queue.get()) as string;
        if (at % 100 === 0) queue.addRateLimited(key);
        queue.done(key);
        if (at % 100 !== 0) continue;
        await clock.advance(2000);
        queue.done((await queue.get()) as string);
        queue.forget(key);
      }
    };
    await churn(0, 5000);
    const before = heldMebibytes();
    await churn(5000, 100_000);
    expect([queue.length, queue.processing, queue.delayed, clock.pendingTimers]).toEqual([0, 0, 0, 0]);
    // Keeping data for 95,000 names would take 10 MiB.
    expect(heldMebibytes() - before).toBeLessThan(3);
  });

  it('a busy high priority lets the low one wait for ever', async () => {
    const clock = new VirtualClock();
    const queue = new WorkQueue<string>({ priority: {}, clock });
    for (let at = 0; at < 5; at++) queue.add(`initial list ${at}`, -100);
    const served: string[] = [];
    for (let ms = 0; ms < 25_000; ms += 10) {
      // This is more than one worker can handle.
      queue.add(`change ${ms}`, 0);
      queue.add(`other change ${ms}`, 0);
      const key = (await queue.get()) as string;
      served.push(key);
      queue.done(key);
      await clock.advance(10);
    }
    expect(served.filter((key) => key.startsWith('initial list'))).toHaveLength(5);
    expect(served[0]).toBe('change 0');
  });
});

describe('what hurts in Node controllers:', () => {
  let clock: VirtualClock;
  let sources: Map<string, FakeListerWatcher<TestConfigMap>>;
  let patched: string[];
  let stop: AbortController;
  let running: Promise<void> | undefined;
  beforeEach(() => {
    clock = new VirtualClock();
    patched = [];
    sources = new Map([testConfigMaps, testPods].map(({ kind }) => [kind, new FakeListerWatcher<TestConfigMap>()]));
    stop = new AbortController();
    running = undefined;
  });
  afterEach(async () => {
    stop.abort();
    await running;
    expect(clock.pendingTimers).toBe(0);
  });

  const sourceOf = ({ kind }: Resource): FakeListerWatcher<TestConfigMap> =>
    sources.get(kind) as FakeListerWatcher<TestConfigMap>;
  const client = {
    listerWatcher: sourceOf,
    patch: async (_token: Resource, { name }: { readonly name: string }) => {
      patched.push(name);
      return { metadata: { name } } as KubernetesObject;
    },
  } as unknown as ResourceClient;
  const run = async (...controllers: Controller[]): Promise<void> => {
    const informers = { onWatchError: () => undefined };
    running = new Manager(controllers, { client, clock, informers }).run(stop.signal);
    await settle();
  };
  const maps = (): FakeListerWatcher<TestConfigMap> => sourceOf(testConfigMaps);

  it('a limit of concurrency drops reconciliations', async () => {
    const ends: (() => void)[] = [];
    const seen = new Map<string, string | undefined>();
    let [now, most] = [0, 0];
    await run(
      controller(testConfigMaps)
        .settings({ workers: 2 })
        .reconcile(async ({ metadata, data }) => {
          const name = metadata?.name ?? '';
          const version = Number(data?.version);
          most = Math.max(most, ++now);
          // The object is changed while it is being processed, and so is another one that waits.
          if (version < 5) maps().modify(configMap({ name }, { version: `${version + 1}` }));
          if (name !== 'last') maps().modify(configMap({ name: 'last' }, { version: '5' }));
          await new Promise<void>((resolve) => ends.push(resolve));
          now--;
          seen.set(name, data?.version);
        }),
    );
    const names = [...Array.from({ length: 10 }, (_, at) => `${at}`), 'last'];
    for (const name of names) maps().add(configMap({ name }, { version: '0' }));
    await settle();
    for (let runs = 0; ends.length > 0 && runs < 200; runs++) {
      ends.shift()?.();
      await settle();
    }
    expect([...seen]).toHaveLength(names.length);
    expect([...seen.values()].filter((version) => version !== '5')).toEqual([]);
    expect(most).toBe(2);
  });

  it('an error is swallowed, and the object not looked at again until a restart', async () => {
    const tries: number[] = [];
    await run(
      controller(testConfigMaps).reconcile(async (_object, { attempt }) => {
        tries.push(clock.monotonicNow());
        if (attempt < 6) throw new Error('not yet');
      }),
    );
    maps().add(configMap({ name: 'a' }));
    await clock.advance(3_600_000);
    expect(tries).toHaveLength(7);
    const pauses = tries.slice(1).map((atMs, at) => atMs - (tries[at] ?? 0));
    expect(pauses).toEqual([5, 10, 20, 40, 80, 160]);
  });

  it('what is to come back after an hour cannot be tested', async () => {
    const runs: number[] = [];
    await run(
      controller(testConfigMaps).reconcile(async () => {
        runs.push(clock.monotonicNow());
        return requeueAfter(3_600_000);
      }),
    );
    maps().add(configMap({ name: 'a' }));
    await clock.advance(3_599_999);
    expect(runs).toEqual([0]);
    await clock.advance(2 * 3_600_000);
    expect(runs).toEqual([0, 3_600_000, 7_200_000]);
  });

  it('each watch gives a run of its own at the start, before the other caches are filled', async () => {
    for (const name of ['a', 'b', 'c']) {
      maps().add(configMap({ name }));
      const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name, uid: name, controller: true }];
      for (const child of ['x', 'y'])
        sourceOf(testPods).add({
          metadata: { namespace: 'default', name: `${name}-${child}`, ownerReferences },
        } as TestConfigMap);
    }
    sourceOf(testPods).failNext('watch', new Error('not yet'));
    sourceOf(testPods).failNext('list', new Error('not yet'));
    const runs: string[] = [];
    const reconciled = controller(testConfigMaps)
      .owns(testPods)
      .watches(testPods, ({ metadata }) => [{ namespace: 'default', name: metadata?.name?.split('-')[0] ?? '' }])
      .reconcile(async ({ metadata }, { cache }) => {
        runs.push(`${metadata?.name} of ${cache(testPods).list().length}`);
      });
    await run(reconciled);
    expect(runs).toEqual([]);
    await clock.advance(60_000);
    expect(runs.sort()).toEqual(['a of 6', 'b of 6', 'c of 6']);
  });

  it('two controllers of a kind have two watches of it', async () => {
    const runs: string[] = [];
    const ten = Array.from({ length: 10 }, (_, at) =>
      controller(testConfigMaps, { name: `${at}` })
        .watches(testPods, () => [])
        .reconcile(async () => void runs.push(`${at}`)),
    );
    await run(...ten);
    maps().add(configMap({ name: 'a' }));
    await settle();
    expect(runs.sort()).toEqual(Array.from({ length: 10 }, (_, at) => `${at}`));
    expect([testConfigMaps, testPods].map((kind) => sourceOf(kind).asked('watch').length)).toEqual([1, 1]);
  });

  it('a handler is wanted "only once", and a restart or a status does it again', async () => {
    const runs: string[] = [];
    const once = controller(testConfigMaps)
      .when(generationChanged)
      .reconcile(async ({ metadata, data }) => {
        runs.push(`${metadata?.name} ${data?.k} at ${metadata?.generation}`);
      });
    const written = (generation: number, data: Record<string, string>): TestConfigMap =>
      configMap({ name: 'a', generation }, data);
    await run(once);
    maps().add(written(1, { k: 'one' }));
    await settle();
    // A change of status or labels does not change the generation.
    maps().modify(written(1, { k: 'one', status: 'seen' }));
    await settle();
    maps().modify(written(2, { k: 'two' }));
    await settle();
    expect(runs).toEqual(['a one at 1', 'a two at 2']);
    stop.abort();
    await running;
    stop = new AbortController();
    // Changes made while nobody watched are not lost: every object is reported again, once.
    maps().modify(written(3, { k: 'three' }));
    maps().modify(written(4, { k: 'four' }));
    await run(once);
    expect(runs.slice(2)).toEqual(['a four at 4']);
    expect(patched).toEqual([]);
  });
});
