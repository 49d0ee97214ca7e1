import { VirtualClock } from '@kapstan/api/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import { ownLoad, type ProcessLoad, releaseMemoryWhenIdle } from './idle-memory.ts';

const mebibyte = 1_048_576;
let clock: VirtualClock;
let cpuMs = 0;
let resident = 0;
let collections = 0;
/** Bytes that remain after a collection. */
let live = 0;
const load: ProcessLoad = {
  cpuMs: () => cpuMs,
  residentBytes: () => resident,
  collectGarbage: () => {
    collections++;
    resident = live;
  },
};

beforeEach(() => {
  clock = new VirtualClock();
  [cpuMs, resident, live, collections] = [1_000, 100 * mebibyte, 100 * mebibyte, 0];
});

describe('memory of an idle server', () => {
  it('is collected once after a burst, not while there is something to do', async () => {
    const stop = releaseMemoryWhenIdle({ load, clock });
    resident = 400 * mebibyte;
    cpuMs += 8_000;
    await clock.advance(10_000);
    expect(collections).toBe(0);
    cpuMs += 100;
    await clock.advance(10_000);
    expect([collections, resident]).toEqual([1, 100 * mebibyte]);
    await clock.advance(60_000);
    expect(collections).toBe(1);
    stop();
    expect(clock.pendingTimers).toBe(0);
  });

  it('is collected a second time when the histories of the caches have let go of the burst, and then no more', async () => {
    const stop = releaseMemoryWhenIdle({ load, clock });
    resident = live = 400 * mebibyte;
    await clock.advance(10_000);
    expect(collections).toBe(1);
    await clock.advance(100_000);
    expect(collections).toBe(1);
    live = 200 * mebibyte;
    await clock.advance(30_000);
    expect([collections, resident]).toEqual([2, 200 * mebibyte]);
    await clock.advance(600_000);
    expect(collections).toBe(2);
    stop();
    expect(clock.pendingTimers).toBe(0);
  });

  it('is not collected for little, nor again and again for what does not come back', async () => {
    const stop = releaseMemoryWhenIdle({ load, clock });
    resident += 40 * mebibyte;
    await clock.advance(20_000);
    expect(collections).toBe(0);
    live = 300 * mebibyte;
    resident = 300 * mebibyte;
    await clock.advance(60_000);
    expect(collections).toBe(1);
    resident += 100 * mebibyte;
    await clock.advance(60_000);
    expect(collections).toBe(2);
    stop();
  });
});

it('has the collector of the process itself, though that was started without its flag', () => {
  const load = ownLoad();
  const dropped = new WeakRef({});
  // An object read through a WeakRef stays alive until the end of the turn, so the collection runs in the next one.
  return new Promise<void>((resolve) => setImmediate(resolve)).then(() => {
    load.collectGarbage();
    expect(dropped.deref()).toBeUndefined();
    expect((globalThis as { gc?: unknown }).gc).toBeUndefined();
  });
});
