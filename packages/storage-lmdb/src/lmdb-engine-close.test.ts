// Closing while work is under way: accepted work is finished, later work is refused, and neither counts as a failure.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Revision, silentLogger } from '@kapstan/api';
import { settle, VirtualClock } from '@kapstan/api/testing';
import { isStorageError } from '@kapstan/storage';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type LmdbEngine, openLmdbEngine } from './index.ts';

let folder: string;
let clock: VirtualClock;
let failures: unknown[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kapstan-close-'));
  clock = new VirtualClock();
  failures = [];
});

afterEach(() => {
  expect(failures).toEqual([]);
  expect(clock.pendingTimers).toBe(0);
  rmSync(folder, { recursive: true });
});

/** Opens an engine for which every logged error fails the test. */
const openEngine = (): Promise<LmdbEngine> =>
  openLmdbEngine({
    dataDir: join(folder, 'data'),
    clock,
    onFatal: (error) => failures.push(error),
    logger: { ...silentLogger, error: (message, fields) => failures.push({ message, fields }) },
  });

const put = (engine: LmdbEngine, key: string, { value = new Uint8Array(1), lease = 0 } = {}) =>
  engine.commit({ key, expectedRevision: 0 as Revision, change: { type: 'put', value, lease } });

const everything = { start: '/', end: '0' };
const turnOfTheLoop = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const isClosed = (error: unknown): boolean => isStorageError(error, 'Closed');

describe('close', () => {
  it('finishes the grants that were asked for and refuses those that come later with Closed', async () => {
    const engine = await openEngine();
    const granting = [100, 1_000, 10_000].map((seconds) => engine.grantLease(seconds));
    const closing = engine.close();
    await expect(engine.grantLease(100)).rejects.toSatisfy(isClosed);
    const granted = await Promise.all(granting);
    await closing;
    const again = await openEngine();
    expect((await again.stats()).leases).toBe(3);
    for (const lease of granted) expect((await put(again, `/${lease}`, { lease })).succeeded).toBe(true);
    await again.close();
  });

  it('waits for all leases that are expiring, also when others ran out meanwhile, and the next process goes on', async () => {
    const engine = await openEngine();
    for (const seconds of [100, 200]) {
      const lease = await engine.grantLease(seconds);
      await Promise.all(Array.from({ length: 600 }, (_, index) => put(engine, `/${seconds}/${index}`, { lease })));
    }
    clock.jumpWallClock(110_000);
    const first = clock.advance(60_000);
    for (let turn = 0; turn < 100 && (await engine.stats()).leases === 2; turn += 1) await turnOfTheLoop();
    // The grant sets the timer again while the first lease's keys are being deleted.
    await engine.grantLease(100_000);
    clock.jumpWallClock(110_000);
    const second = clock.advance(60_000);
    await turnOfTheLoop();
    await engine.close();
    await Promise.all([first, second]);
    const again = await openEngine();
    await clock.advance(60_000);
    for (let turn = 0; turn < 1_000 && (await again.count(everything)) > 0; turn += 1) await settle();
    expect(await again.count(everything)).toBe(0);
    expect((await again.check()).problems).toEqual([]);
    await again.close();
  });

  it('refuses commits, compactions and checks that wait for their turn with Closed', async () => {
    const engine = await openEngine();
    const before = put(engine, '/before');
    const closing = engine.close();
    for (const late of [put(engine, '/late'), engine.compact(1 as Revision), engine.check(), engine.stats()]) {
      await expect(late).rejects.toSatisfy(isClosed);
    }
    expect((await before).succeeded).toBe(true);
    await closing;
  });

  it('waits for a backup that is under way: closing under it would end the process', async () => {
    const engine = await openEngine();
    const value = new Uint8Array(1_000_000);
    await Promise.all(Array.from({ length: 60 }, (_, index) => put(engine, `/${index}`, { value })));
    const backup = engine.backup(join(folder, 'backup'));
    await engine.close();
    await backup;
    const copy = await openLmdbEngine({ dataDir: join(folder, 'backup'), clock });
    expect(await copy.count(everything)).toBe(60);
    await copy.close();
  });
});
