// Tests that registries leave nothing behind, because a server makes and drops one with every custom resource
// definition (invariant I9).
import { setImmediate as nextTurn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { LeakCheck, VirtualClock } from '@kapstan/api/testing';
import { type LmdbEngine, openLmdbEngine } from '@kapstan/storage-lmdb';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { configMap, StoreFixture, testContext, testDefinition } from '../../testing/store-fixture.ts';
import { ResourceStack } from './resource-stack.ts';

let fixture: StoreFixture;
let engine: LmdbEngine;
beforeEach(async () => {
  fixture = await StoreFixture.open(async (options) => {
    engine = await openLmdbEngine(options);
    return engine;
  });
});
afterEach(() => fixture.close());

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/**
 * Runs a registry from start to end, with a request under way at its end. The references show when its memory is free.
 */
async function live(clock: VirtualClock, index: number): Promise<readonly WeakRef<object>[]> {
  const resource = `things${index % 10}`;
  const stack = new ResourceStack(testDefinition({ resource }), { engine, clock, watchCache: index % 4 !== 0 });
  await stack.waitUntilReady();
  const { store } = stack.served;
  // Every object after the first of its resource already exists.
  await store.create(testContext(), configMap('a')).catch(() => undefined);
  let ends = 0;
  const sink = { onEvent: () => undefined, onEnd: () => void ends++ };
  store.watch(testContext(), { resourceVersion: '0' }, sink);
  const waiting = store.list(testContext(), {}).catch(() => undefined);
  await stack.close();
  await waiting;
  // A watch directly on storage is closed. A watch of a cache is only told that it is over, because other watches may
  // share the one below.
  expect(ends).toBe(stack.cacher === undefined ? 0 : 1);
  expect(stack.readiness()).toBeDefined();
  await stack.close();
  return [new WeakRef(stack), new WeakRef(store)];
}

describe('a thousand registries that were made and closed', () => {
  it('leave no handle, timer, watch or memory', async () => {
    const clock = new VirtualClock();
    // Resources that the first one loads and opens stay, because they belong to the engine.
    await live(clock, 0);
    const leaks = new LeakCheck({ clock });
    const watches = (await engine.stats()).watches;
    const references: WeakRef<object>[] = [];
    for (let batch = 0; batch < 20; batch++) {
      const lives = Array.from({ length: 50 }, (_, index) => live(clock, index));
      references.push(...(await Promise.all(lives)).flat());
    }
    expect(references).toHaveLength(2000);
    await leaks.assertNone();
    expect((await engine.stats()).watches).toBe(watches);
    await nextTurn();
    collectGarbage();
    const alive = references.filter((reference) => reference.deref() !== undefined).length;
    // The collector may leave references of the last batch on its stack.
    expect(alive).toBeLessThanOrEqual(100);
  });
});
