// The cacher's sizes describe the newest state, or are absent. In the Go library the store estimates them from the cacher's keys.
import { isTooLargeResourceVersion } from '@kapstan/api';
import { settle } from '@kapstan/api/testing';
import { keyOf, podOf } from '@kapstan/storage/testing';
import { describe, expect, it } from 'vitest';
import { openCacherBench } from './testing/cacher-bench.ts';

const { bench, parts } = openCacherBench();

describe('the sizes that a Cacher tells', () => {
  it('are those of the newest state: one that lags waits until it is there', async () => {
    const { cacher, clock, engine, store, loseProgress } = parts();
    await parts().start();
    await bench.create('a');
    await bench.caughtUp();
    const { watch } = engine;
    loseProgress();
    await store.create(keyOf('b'), podOf('b'));
    const told: unknown[] = [];
    const asked = cacher.stats().then((stats) => told.push(stats.objectCount));
    await settle();
    expect(told).toEqual([]);
    engine.watch = watch;
    await clock.advance(1_000);
    await asked;
    expect(told).toEqual([2]);
  });

  it('are refused with 504 when it lags for 3 s', async () => {
    const { cacher, clock, store, loseProgress } = parts();
    await parts().start();
    loseProgress();
    await store.create(keyOf('b'), podOf('b'));
    const refused = cacher.stats().catch((error: unknown) => error);
    await settle();
    await clock.advance(3_000);
    expect(await refused).toSatisfy(isTooLargeResourceVersion);
  });
});
