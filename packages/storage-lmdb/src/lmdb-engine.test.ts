import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Revision } from '@kapstan/api';
import { settle, VirtualClock } from '@kapstan/api/testing';
import { isStorageError, type RangeResult, type StorageErrorCode } from '@kapstan/storage';
import { WatchRecorder } from '@kapstan/storage/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type LmdbEngine, type LmdbEngineOptions, openLmdbEngine, restoreLmdbBackup } from './index.ts';

const revisionOf = (value: number): Revision => value as Revision;
const everything = { start: '/', end: '0' };
const withCode = (code: StorageErrorCode) => (error: unknown) => isStorageError(error, code);

let folder: string;
let clock: VirtualClock;
const opened: LmdbEngine[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kapstan-lmdb-'));
  clock = new VirtualClock();
});

afterEach(async () => {
  for (const engine of opened.splice(0)) {
    const report = await engine.check().catch((error: unknown) => {
      if (!isStorageError(error, 'Closed')) throw error;
      return { problems: [] };
    });
    expect(report.problems).toEqual([]);
    await engine.close();
  }
  expect(clock.pendingTimers).toBe(0);
  rmSync(folder, { recursive: true });
});

async function openEngine(options: Partial<LmdbEngineOptions> = {}): Promise<LmdbEngine> {
  const engine = await openLmdbEngine({ dataDir: join(folder, 'data'), clock, ...options });
  opened.push(engine);
  return engine;
}

function put(
  engine: LmdbEngine,
  key: string,
  options: { value?: string | Uint8Array; after?: number; lease?: number } = {},
) {
  const { value = 'v', after = 0, lease = 0 } = options;
  const bytes = typeof value === 'string' ? Buffer.from(value) : value;
  return engine.commit({ key, expectedRevision: revisionOf(after), change: { type: 'put', value: bytes, lease } });
}

function remove(engine: LmdbEngine, key: string, after: number) {
  return engine.commit({ key, expectedRevision: revisionOf(after), change: { type: 'delete' } });
}

/** Lets the event loop turn until the condition holds. Fails after more turns than anything here needs. */
async function eventually(holds: () => boolean | Promise<boolean>): Promise<void> {
  for (let turn = 0; !(await holds()); turn += 1) {
    if (turn === 5_000) throw new Error('the condition did not hold after 5000 turns of the event loop');
    await settle();
  }
}

const putMany = (engine: LmdbEngine, count: number, value = 'v') =>
  Promise.all(
    Array.from({ length: count }, (_, index) => put(engine, `/k${String(index).padStart(5, '0')}`, { value })),
  );

describe('group commit', () => {
  it('puts all commits of a turn into one transaction', async () => {
    const engine = await openEngine();
    await putMany(engine, 500);
    expect(await engine.stats()).toMatchObject({ commits: 500, transactions: 1, revision: 501 });
  });

  it('gathers what is asked for during a transaction into the next one', async () => {
    const engine = await openEngine();
    const writer = async (name: number): Promise<void> => {
      for (let index = 0; index < 20; index += 1) await put(engine, `/${name}/${index}`);
    };
    await Promise.all(Array.from({ length: 50 }, (_, name) => writer(name)));
    const { commits, transactions } = await engine.stats();
    expect(commits).toBe(1_000);
    expect(transactions).toBeLessThanOrEqual(40);
  });

  it('shows each compare the effects of the earlier commits of its transaction', async () => {
    const engine = await openEngine();
    const results = await Promise.all([
      put(engine, '/a', { value: 'one' }),
      put(engine, '/a', { value: 'refused' }),
      put(engine, '/a', { value: 'two', after: 2 }),
      remove(engine, '/a', 3),
      remove(engine, '/a', 3),
      put(engine, '/a', { value: 'three' }),
    ]);
    expect(results.map(({ succeeded, revision }) => [succeeded, revision])).toEqual([
      [true, 2],
      [false, 2],
      [true, 3],
      [true, 4],
      [false, 4],
      [true, 5],
    ]);
    expect(await engine.stats()).toMatchObject({ transactions: 1 });
    const { kvs } = await engine.range(everything, { revision: revisionOf(3) });
    expect(kvs.map((kv) => [Buffer.from(kv.value).toString(), kv.createRevision])).toEqual([['two', 2]]);
  });

  it('writes nothing for compares that fail', async () => {
    const engine = await openEngine();
    await put(engine, '/a', { after: 7 });
    expect(await remove(engine, '/a', 0)).toEqual({ succeeded: false, revision: 1 });
    expect(await engine.stats()).toMatchObject({ transactions: 0, revision: 1 });
  });

  it('finishes the commits that were accepted before close', async () => {
    const engine = await openEngine();
    const commits = putMany(engine, 50);
    await engine.close();
    expect((await commits).every((result) => result.succeeded)).toBe(true);
    expect(await (await openEngine()).count(everything)).toBe(50);
  });
});

describe('limits', () => {
  it('takes a value of exactly the largest size and none above', async () => {
    const engine = await openEngine();
    expect((await put(engine, '/a', { value: new Uint8Array(1_572_864) })).succeeded).toBe(true);
    expect((await engine.get('/a')).kv?.value.length).toBe(1_572_864);
    await expect(put(engine, '/b', { value: new Uint8Array(1_572_865) })).rejects.toSatisfy(withCode('TooLarge'));
  });

  it.each([
    ['an empty key', ''],
    ['a lone surrogate', '/\ud800'],
  ])('refuses %s as InvalidKey', async (_, key) => {
    const engine = await openEngine();
    await expect(put(engine, key)).rejects.toSatisfy(withCode('InvalidKey'));
  });

  it.each([
    ['a key of 1901 bytes', `/${'x'.repeat(1_900)}`],
    ['a key that is too long only in UTF-8', `/${'€'.repeat(700)}`],
    ['a key that is too long only as stored', `/${'\0'.repeat(951)}`],
    ['a key of a megabyte', `/${'x'.repeat(1_000_000)}`],
  ])('stores nothing at %s, and finds nothing there', async (_, key) => {
    const engine = await openEngine();
    const { revision } = await put(engine, '/a');
    await expect(put(engine, key)).rejects.toSatisfy(withCode('InvalidKey'));
    expect(await engine.get(key)).toEqual({ revision });
  });

  it.each([
    ['x', 1_900],
    ['x', 51_200],
    ['€', 20_000],
    ['\0', 20_000],
  ])(
    'finds nothing under a key that is too long to be there, and goes on behind it: %j, %d times',
    async (char, times) => {
      const engine = await openEngine();
      await put(engine, `/${char}`);
      await put(engine, '/~');
      const key = `/${char.repeat(times)}`;
      expect(await engine.get(key)).toEqual({ revision: 3 });
      const behind = char === '€' ? [] : ['/~'];
      const keysOf = async (start: string, end: string) =>
        (await engine.range({ start, end })).kvs.map(({ key }) => key);
      expect(await keysOf(key, '0')).toEqual(behind);
      expect(await keysOf('/', key)).toEqual(behind.length === 0 ? ['/~', `/${char}`] : [`/${char}`]);
      expect(await engine.count({ start: key, end: '0' })).toBe(behind.length);
    },
  );

  it('stores and finds the longest key', async () => {
    const engine = await openEngine();
    const key = `/${'x'.repeat(1_899)}`;
    await put(engine, key);
    await put(engine, `${key.slice(0, -1)}a`);
    expect((await engine.range({ start: key, end: `${key}\0` })).count).toBe(1);
    expect((await engine.range({ start: key.repeat(2), end: '0' })).count).toBe(0);
  });

  it('refuses a lease that was never granted', async () => {
    const engine = await openEngine();
    await expect(put(engine, '/a', { lease: 5 })).rejects.toThrow('lease 5 not found');
    await expect(engine.grantLease(0)).rejects.toThrow(TypeError);
  });

  it('answers Full at the quota, still reads and deletes, and accepts writes again when there is room', async () => {
    const engine = await openEngine({ quotaBytes: 1_000_000 });
    const value = new Uint8Array(20_000);
    const stored: number[] = [];
    let failure: unknown;
    for (let index = 0; failure === undefined; index += 1) {
      await put(engine, `/k${index}`, { value }).then(
        (result) => stored.push(result.revision),
        (error: unknown) => {
          failure = error;
        },
      );
    }
    expect(withCode('Full')(failure)).toBe(true);
    expect((await engine.stats()).usedBytes).toBeLessThan(1_100_000);
    expect(stored.length).toBeGreaterThan(30);
    expect(await engine.count(everything)).toBe(stored.length);
    for (const [index, revision] of stored.entries()) await remove(engine, `/k${index}`, revision);
    await engine.compact(await engine.currentRevision());
    expect((await put(engine, '/again', { value })).succeeded).toBe(true);
  });

  it.each([
    { dataDir: '' },
    { maxValueBytes: 0 },
    { quotaBytes: 1 },
    { quotaBytes: 300_000.5 },
    { progressIntervalMs: -1 },
    { progressIntervalMs: Number.NaN },
  ])('refuses the option %o', async (option) => {
    await expect(openEngine(option)).rejects.toThrow(
      new RegExp(`TypeError: ${Object.keys(option)[0]}|${Object.keys(option)[0]} must be`),
    );
  });

  it('documents each default as it is', () => {
    const source = readFileSync(new URL('lmdb-engine.ts', import.meta.url), 'utf8');
    const body = source.slice(source.indexOf('const defaults = {'), source.indexOf('} as const satisfies'));
    const values = new Map(
      [...body.matchAll(/(\w+): ([\d_]+),/g)].map(([, name, value]) => [name, Number(value!.replaceAll('_', ''))]),
    );
    const inOneLine = source.replaceAll(/\n\s+\* /g, ' ');
    const documented = [...inOneLine.matchAll(/Default ([\d ]*\d)[^*]*\*\/\s+readonly (\w+)\?/g)];
    expect(documented.length).toBe(values.size);
    for (const [, value, name] of documented)
      expect([name, Number(value!.replaceAll(' ', ''))]).toEqual([name, values.get(name!)]);
  });
});

describe('ranges', () => {
  it.each(['now', 'in the past'])(
    'gives the event loop a turn at least every 500 of 20,000 keys (%s)',
    async (when) => {
      const engine = await openEngine();
      await putMany(engine, 20_000);
      const revision = await engine.currentRevision();
      if (when === 'in the past') await put(engine, '/z');
      let turns = 0;
      let isReading = true;
      const tick = (): void => {
        turns += 1;
        if (isReading) setImmediate(tick);
      };
      setImmediate(tick);
      const { kvs } = await engine.range(everything, { revision });
      isReading = false;
      expect(kvs.length).toBe(20_000);
      expect(turns).toBeGreaterThanOrEqual(40);
      await settle();
    },
  );

  it('counts beyond its chunk of 100,000 keys', { timeout: 30_000 }, async () => {
    const engine = await openEngine();
    for (let part = 0; part < 11; part += 1) {
      await Promise.all(Array.from({ length: 10_000 }, (_, index) => put(engine, `/${part}/${index}`, { value: '' })));
    }
    expect(await engine.count(everything)).toBe(110_000);
    expect(await engine.range(everything, { limit: 3 })).toMatchObject({ count: 110_000, more: true });
  });

  it('finds the right version among hundreds of one key', async () => {
    const engine = await openEngine();
    await put(engine, '/a');
    let last = (await put(engine, '/busy', { value: '0' })).revision;
    for (let round = 1; round <= 300; round += 1)
      last = (await put(engine, '/busy', { value: `${round}`, after: last })).revision;
    await put(engine, '/c');
    for (const ago of [1, 50, 150, 299]) {
      const { kvs, count } = await engine.range(everything, { revision: revisionOf(last - ago) });
      expect(kvs.map((kv) => [kv.key, Buffer.from(kv.value).toString()])).toEqual([
        ['/a', 'v'],
        ['/busy', `${300 - ago}`],
      ]);
      expect(count).toBe(2);
    }
    expect((await engine.range(everything, { revision: revisionOf(2) })).count).toBe(1);
  });

  it('are read whole at their revision or fail with Compacted, while that revision is being compacted', async () => {
    const engine = await openEngine();
    await putMany(engine, 5_000);
    const revision = await engine.currentRevision();
    const newest = (await put(engine, '/k00000', { after: 2 })).revision;
    const compacting = engine.compact(newest);
    const reading = engine.range(everything, { revision }).catch((error: unknown) => error);
    const counting = engine.count(everything);
    // The disk decides which of the two happens: the compaction counts once its record is durable.
    expect(await reading).toSatisfy(
      (read) => isStorageError(read, 'Compacted') || (read as RangeResult).kvs.length === 5_000,
    );
    await compacting;
    await expect(engine.range(everything, { revision })).rejects.toSatisfy(withCode('Compacted'));
    expect(await counting).toBe(5_000);
  });

  it('stops when its signal is aborted while it reads, and when the engine is closed', async () => {
    const engine = await openEngine();
    await putMany(engine, 5_000);
    const controller = new AbortController();
    const aborted = engine.range(everything, { signal: controller.signal });
    controller.abort(new Error('enough'));
    await expect(aborted).rejects.toThrow('enough');
    const cut = engine.range(everything);
    const closing = engine.close();
    await expect(cut).rejects.toSatisfy(withCode('Closed'));
    await closing;
  });
});

describe('compaction', () => {
  it('drops the rows that nobody can read any more, so the file does not grow when keys are rewritten', async () => {
    const engine = await openEngine();
    let revisions = (await putMany(engine, 200, 'x'.repeat(1_000))).map((result) => result.revision);
    const rewrite = async (): Promise<void> => {
      const writes = revisions.map((after, index) =>
        put(engine, `/k${String(index).padStart(5, '0')}`, { after, value: 'y'.repeat(1_000) }),
      );
      revisions = (await Promise.all(writes)).map((result) => result.revision);
      await engine.compact(await engine.currentRevision());
    };
    for (let round = 0; round < 5; round += 1) await rewrite();
    const { keys, versions, fileBytes } = await engine.stats();
    expect([keys, versions]).toEqual([200, 200]);
    for (let round = 0; round < 20; round += 1) await rewrite();
    expect((await engine.stats()).fileBytes).toBeLessThan(2 * fileBytes);
  });

  it('lets writers commit between its batches', async () => {
    const engine = await openEngine();
    await putMany(engine, 5_000);
    for (let index = 0; index < 5_000; index += 1)
      void remove(engine, `/k${String(index).padStart(5, '0')}`, index + 2);
    await settle();
    await put(engine, '/drain');
    let isCompacting = true;
    const compacting = engine.compact(await engine.currentRevision()).then(() => {
      isCompacting = false;
    });
    let writes = 0;
    for (; isCompacting; writes += 1) await put(engine, `/during/${writes}`);
    await compacting;
    expect(writes).toBeGreaterThan(5);
  });

  it('is finished by the next process when the first one was stopped in the middle', async () => {
    const first = await openEngine();
    await putMany(first, 3_000);
    await Promise.all(
      Array.from({ length: 3_000 }, (_, index) => remove(first, `/k${String(index).padStart(5, '0')}`, index + 2)),
    );
    const current = await first.currentRevision();
    const compacting = first.compact(current);
    await eventually(() => first.compactRevision() !== 0);
    await first.close();
    await compacting;
    const second = await openEngine();
    expect(second.compactRevision()).toBe(current);
    await eventually(async () => (await second.stats()).versions === 0);
    expect((await second.check()).problems).toEqual([]);
  });

  it('ends a watch that was replaying the revisions that are compacted', async () => {
    const engine = await openEngine();
    await putMany(engine, 3_000);
    const late = WatchRecorder.start(engine, everything, { after: revisionOf(1) });
    await engine.compact(await engine.currentRevision());
    await late.until(() => late.error !== undefined || late.events.length === 3_000);
    late.verify();
    expect(late.error === undefined || isStorageError(late.error, 'Compacted')).toBe(true);
    late.close();
  });
});

describe('leases', () => {
  it('are new each time, also when several are requested at once', async () => {
    const engine = await openEngine();
    const leases = await Promise.all(Array.from({ length: 10 }, () => engine.grantLease(3_600)));
    expect(new Set(leases).size).toBe(10);
    expect((await engine.stats()).leases).toBe(10);
  });

  it('never have the same number, also when the first one expired and the store was closed meanwhile', async () => {
    const first = await openEngine();
    const lease = await first.grantLease(10);
    await clock.advance(20_000);
    await eventually(async () => (await first.stats()).leases === 0);
    await first.close();
    expect(await (await openEngine()).grantLease(10)).toBeGreaterThan(lease);
  });

  it('keep a key until they expire, and delete it soon after', async () => {
    const engine = await openEngine();
    await put(engine, '/a', { lease: await engine.grantLease(600) });
    await clock.advance(599_999);
    expect(await engine.count(everything)).toBe(1);
    const recorder = WatchRecorder.start(engine, everything, { after: await engine.currentRevision() });
    await clock.advance(1);
    await recorder.received(1);
    expect(recorder.events[0]).toMatchObject({ type: 'delete', key: '/a' });
    recorder.close();
    await eventually(async () => (await engine.stats()).leases === 0);
  });

  it('delete on opening the keys that expired while the store was closed', async () => {
    const first = await openEngine();
    await put(first, '/short', { lease: await first.grantLease(10) });
    await put(first, '/long', { lease: await first.grantLease(10_000) });
    await first.close();
    await clock.advance(60_000);
    const second = await openEngine();
    const recorder = WatchRecorder.start(second, everything, { after: await second.currentRevision() });
    await clock.advance(0);
    await recorder.received(1);
    expect(recorder.events.map((event) => event.key)).toEqual(['/short']);
    expect((await second.range(everything)).kvs.map((kv) => kv.key)).toEqual(['/long']);
    recorder.close();
  });

  it('expire also while the keys of others are being deleted', async () => {
    const engine = await openEngine();
    for (const seconds of [100, 200]) await put(engine, `/${seconds}`, { lease: await engine.grantLease(seconds) });
    const recorder = WatchRecorder.start(engine, everything, { after: await engine.currentRevision() });
    // For the engine, all of this time passes while its first deletion is on its way to disk.
    await clock.advance(300_000);
    await recorder.received(2);
    expect(recorder.events.map((event) => event.key)).toEqual(['/100', '/200']);
    recorder.close();
    await eventually(async () => (await engine.stats()).leases === 0);
  });

  it('expire within a minute when the wall clock jumps ahead', async () => {
    const engine = await openEngine();
    await put(engine, '/a', { lease: await engine.grantLease(86_400) });
    const recorder = WatchRecorder.start(engine, everything, { after: await engine.currentRevision() });
    clock.jumpWallClock(100_000_000);
    await clock.advance(60_000);
    await recorder.received(1);
    recorder.close();
  });

  it('delete thousands of keys, but not one that was rewritten meanwhile', async () => {
    const engine = await openEngine();
    const lease = await engine.grantLease(100);
    await Promise.all(Array.from({ length: 2_000 }, (_, index) => put(engine, `/k/${index}`, { lease })));
    await put(engine, '/kept', { lease });
    const recorder = WatchRecorder.start(engine, everything, { after: await engine.currentRevision() });
    const { kv } = await engine.get('/kept');
    const [kept] = await Promise.all([put(engine, '/kept', { after: kv!.modRevision }), clock.advance(200_000)]);
    await recorder.received(2_001);
    expect(kept.succeeded).toBe(true);
    expect((await engine.range(everything)).kvs.map(({ key, lease: left }) => [key, left])).toEqual([['/kept', 0]]);
    recorder.close();
    await eventually(async () => (await engine.stats()).leases === 0);
  });
});

describe('progress', () => {
  it('is reported at the interval to watches that want it', async () => {
    const engine = await openEngine({ progressIntervalMs: 5_000 });
    const revision = await engine.currentRevision();
    const wanting = WatchRecorder.start(engine, everything, { after: revision, progressNotify: true });
    const other = WatchRecorder.start(engine, everything, { after: revision });
    await clock.advance(4_999);
    expect(wanting.progress).toEqual([]);
    await clock.advance(5_001);
    expect(wanting.progress).toEqual([revision, revision]);
    await engine.requestProgress();
    await engine.requestProgress();
    await settle();
    expect(wanting.progress).toHaveLength(3);
    expect(other.progress).toEqual([]);
    for (const recorder of [wanting, other]) {
      recorder.verify();
      recorder.close();
    }
    await clock.advance(5_000);
    expect(clock.pendingTimers).toBe(0);
  });

  it('is not reported to a watch from a future revision until that revision is reached', async () => {
    const engine = await openEngine();
    const recorder = WatchRecorder.start(engine, everything, { after: revisionOf(3), progressNotify: true });
    await engine.requestProgress();
    await settle();
    expect(recorder.progress).toEqual([]);
    await putMany(engine, 2);
    await engine.requestProgress();
    await settle();
    expect(recorder.progress).toEqual([3]);
    recorder.close();
  });
});

describe('the data directory', () => {
  it('is made private, and a second engine on it is refused with the process that holds it', async () => {
    const engine = await openEngine();
    expect(statSync(join(folder, 'data')).mode & 0o777).toBe(0o700);
    const message = `data directory ${join(folder, 'data')} is in use by process ${process.pid}`;
    await expect(openLmdbEngine({ dataDir: join(folder, 'data') })).rejects.toThrow(message);
    await put(engine, '/a');
    await engine.close();
    expect(await (await openEngine()).count(everything)).toBe(1);
  });

  it('may have dots in its name and a path longer than a socket address', async () => {
    const dataDir = join(folder, 'v1.2.d', 'x'.repeat(120));
    const engine = await openEngine({ dataDir });
    await put(engine, '/a');
    expect(existsSync(join(dataDir, 'data.mdb'))).toBe(true);
    await expect(openLmdbEngine({ dataDir })).rejects.toThrow('is in use by process');
  });

  it.each([
    ['garbage', () => Buffer.alloc(20_000, 'x'), 'not an LMDB data file'],
    ['a file shorter than its header', () => Buffer.alloc(100), 'not an LMDB data file'],
    [
      'a store whose second header is damaged',
      (data: Buffer) => Buffer.from(data).fill(0, 4_096, 8_192),
      'not an LMDB data file',
    ],
    ['a store that is cut short', (data: Buffer) => data.subarray(0, 8_192), 'cut short'],
  ])('is refused with %s in it, and can be tried again', async (_, damage, message) => {
    const dataDir = join(folder, 'data');
    const engine = await openEngine();
    await putMany(engine, 100);
    await engine.close();
    const file = join(dataDir, 'data.mdb');
    const whole = readFileSync(file);
    writeFileSync(file, damage(whole));
    for (let attempt = 0; attempt < 2; attempt += 1) {
      const refused = openEngine();
      await expect(refused).rejects.toThrow(message);
      await expect(refused).rejects.toSatisfy(withCode('Corrupt'));
    }
    writeFileSync(file, whole);
    expect(await (await openEngine()).count(everything)).toBe(100);
  });

  it('is opened when a process died before it wrote a first byte', async () => {
    mkdirSync(join(folder, 'data'));
    writeFileSync(join(folder, 'data', 'data.mdb'), '');
    expect((await put(await openEngine(), '/a')).succeeded).toBe(true);
  });
});

describe('backup and restore', () => {
  it('copies the store at one revision while writers go on', async () => {
    const engine = await openEngine();
    await putMany(engine, 500);
    const backupDir = join(folder, 'backup');
    const [, late] = await Promise.all([engine.backup(backupDir), put(engine, '/late')]);
    expect(late.succeeded).toBe(true);
    await expect(engine.backup(backupDir)).rejects.toThrow('exists already');
    const copy = await openEngine({ dataDir: backupDir });
    expect(await copy.count({ start: '/k', end: '/l' })).toBe(500);
  });

  it('shows a copy only when it is whole', async () => {
    const engine = await openEngine();
    await putMany(engine, 200, 'x'.repeat(100_000));
    const copy = join(folder, 'backup', 'data.mdb');
    let isDone = false;
    const copying = engine.backup(join(folder, 'backup')).then(() => {
      isDone = true;
    });
    while (!isDone && !existsSync(copy)) await settle();
    const bytes = statSync(copy).size;
    await copying;
    expect(readdirSync(join(folder, 'backup'))).toEqual(['data.mdb']);
    expect([bytes, statSync(copy).mode & 0o777]).toEqual([statSync(copy).size, 0o600]);
  });

  it('leaves nothing of a copy that failed, and can be tried again', async () => {
    const engine = await openEngine();
    await putMany(engine, 10);
    const backupDir = join(folder, 'backup');
    const copying = engine.backup(backupDir);
    // This directory causes the last step to fail.
    mkdirSync(join(backupDir, 'data.mdb', 'x'), { recursive: true });
    await expect(copying).rejects.toThrow();
    expect(readdirSync(backupDir)).toEqual(['data.mdb']);
    rmSync(join(backupDir, 'data.mdb'), { recursive: true });
    await engine.backup(backupDir);
    expect(readdirSync(backupDir)).toEqual(['data.mdb']);
  });

  it('restores above every revision that was ever seen, with all earlier history compacted', async () => {
    const engine = await openEngine();
    await putMany(engine, 10);
    const lease = await engine.grantLease(3_600);
    await put(engine, '/leased', { lease });
    const backupDir = join(folder, 'backup');
    await engine.backup(backupDir);
    const seen = (await put(engine, '/lost')).revision;
    const target = join(folder, 'restored');
    const begins = await restoreLmdbBackup({ backupDir, dataDir: target, revisionBump: 1_000 });
    expect(begins).toBe(seen - 1 + 1_000);
    const restored = await openEngine({ dataDir: target });
    expect(restored.compactRevision()).toBe(begins);
    expect(await restored.count(everything)).toBe(11);
    const recorder = WatchRecorder.start(restored, everything, { after: seen });
    await recorder.ended();
    expect(isStorageError(recorder.error, 'Compacted')).toBe(true);
    expect((await put(restored, '/new')).revision).toBe(begins + 1);
    expect((await restored.get('/leased')).kv?.lease).toBe(lease);
  });

  it('refuses to restore over a store, or from nothing', async () => {
    const engine = await openEngine();
    await engine.backup(join(folder, 'backup'));
    await engine.close();
    const into = (backupDir: string, dataDir: string) =>
      restoreLmdbBackup({ backupDir: join(folder, backupDir), dataDir: join(folder, dataDir) });
    await expect(into('backup', 'data')).rejects.toThrow('holds a store already');
    await expect(into('nothing', 'new')).rejects.toThrow('there is no backup');
    mkdirSync(join(folder, 'empty'));
    writeFileSync(join(folder, 'empty', 'data.mdb'), '');
    await expect(into('empty', 'new')).rejects.toThrow('there is no store in the backup');
    expect(readdirSync(join(folder, 'new'))).toEqual([]);
    await expect(restoreLmdbBackup({ backupDir: folder, dataDir: folder, revisionBump: -1 })).rejects.toThrow(
      TypeError,
    );
  });
});
