// A read yields to the event loop after 5 ms, even if it read few rows, because a disk may be slow, and so may a sink.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Revision } from '@kapstan/api';
import { VirtualClock } from '@kapstan/api/testing';
import type { EngineEvent } from '@kapstan/storage';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type LmdbEngine, openLmdbEngine } from './index.ts';

const everything = { start: '/', end: '0' };
const rows = 300;
let folder: string;
let engine: LmdbEngine;

/** A clock that advances by `lookMs` whenever it is read. */
class SlowClock extends VirtualClock {
  lookMs = 0;
  #lookedMs = 0;
  override monotonicNow(): number {
    this.#lookedMs += this.lookMs;
    return this.#lookedMs;
  }
}
const clock = new SlowClock();

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'kapstan-slices-'));
  clock.lookMs = 0;
  engine = await openLmdbEngine({ dataDir: join(folder, 'data'), clock });
  const change = { type: 'put', value: Buffer.from('v') } as const;
  const keys = Array.from({ length: rows }, (_, index) => `/${String(index).padStart(5, '0')}`);
  await Promise.all(keys.map((key) => engine.commit({ key, expectedRevision: 0 as Revision, change })));
});

afterEach(async () => {
  await engine.close();
  rmSync(folder, { recursive: true });
});

/** Counts the turns of the event loop while the work lasts. */
async function turnsOf(work: () => Promise<unknown>): Promise<number> {
  let turns = 0;
  let isDone = false;
  const tick = (): void => {
    turns += 1;
    if (!isDone) setImmediate(tick);
  };
  setImmediate(tick);
  await work();
  isDone = true;
  return turns;
}

describe('a slice', () => {
  it.each([
    ['now', 0],
    ['in the past', 1],
  ])('of a range ends after 5 ms (%s)', async (_, ago) => {
    const revision = ((await engine.currentRevision()) - ago) as Revision;
    const read = async () => expect((await engine.range(everything, { revision })).kvs.length).toBe(rows - ago);
    expect(await turnsOf(read)).toBeLessThan(10);
    clock.lookMs = 2;
    expect(await turnsOf(read)).toBeGreaterThan(rows / 4);
  });

  it('of a range reads at least one key, however long that takes', async () => {
    clock.lookMs = 1_000;
    expect((await engine.range(everything)).kvs.length).toBe(rows);
    const past = ((await engine.currentRevision()) - 1) as Revision;
    expect((await engine.range(everything, { revision: past })).kvs.length).toBe(rows - 1);
  });

  it('of a replayed history ends after the few rows that took 5 ms', async () => {
    const heard: number[] = [];
    const replay = (lookMs: number) => () =>
      new Promise<void>((resolve, reject) => {
        clock.lookMs = lookMs;
        heard.length = 0;
        const onEvents = ([event]: readonly EngineEvent[]): void => {
          heard.push(event?.revision ?? 0);
          if (heard.length === rows) resolve();
        };
        engine.watch(everything, { after: 1 as Revision }, { onEvents, onProgress: () => undefined, onError: reject });
      });
    const inTime = await turnsOf(replay(0));
    expect(await turnsOf(replay(10))).toBeGreaterThanOrEqual(inTime + rows / 50 - 1);
    expect(heard).toEqual(Array.from({ length: rows }, (_, index) => index + 2));
  });
});
