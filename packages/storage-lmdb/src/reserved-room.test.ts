import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type LogFields, type Revision, silentLogger } from '@kapstan/api';
import { isStorageError } from '@kapstan/storage';
import { fillDisk, makeRoom, mountSmallDisk, unmountSmallDisk } from '@kapstan/storage/testing';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openLmdbEngine } from './lmdb-engine.ts';

let mount = '';
let dataDir = '';
let refusal: string | undefined;

beforeEach(() => {
  mount = mkdtempSync(join(tmpdir(), 'kapstan-no-room-'));
  dataDir = join(mount, 'store');
  refusal = mountSmallDisk(mount, 4);
});
afterEach(() => {
  if (refusal === undefined) unmountSmallDisk(mount);
  rmSync(mount, { recursive: true, force: true });
});

async function refusedAsFull(): Promise<void> {
  const error: unknown = await openLmdbEngine({ dataDir }).catch((refused: unknown) => refused);
  expect(isStorageError(error, 'Full') && error.detail).toMatch(
    `cannot open the store in ${dataDir}: ENOSPC: no space left on device`,
  );
}

it.for([0, 4_096, 12_288, 20_480, 40_960, 131_072])(
  'refuses to make a store where %i bytes are free, and leaves nothing',
  async (free, { skip }) => {
    if (refusal !== undefined) return skip(refusal);
    mkdirSync(dataDir, { mode: 0o700 });
    fillDisk(mount, free);
    await refusedAsFull();
    expect(readdirSync(dataDir)).toEqual([]);
    makeRoom(mount);
    await (await openLmdbEngine({ dataDir })).close();
  },
);

it('refuses to open a store whose lock file is gone, or has holes, and keeps the store', async ({ skip }) => {
  if (refusal !== undefined) return skip(refusal);
  await (await openLmdbEngine({ dataDir })).close();
  const lockFile = join(dataDir, 'lock.mdb');
  rmSync(lockFile);
  fillDisk(mount);
  await refusedAsFull();
  expect(readdirSync(dataDir)).toEqual(['data.mdb']);
  writeFileSync(lockFile, '');
  truncateSync(lockFile, 16_384);
  await refusedAsFull();
  expect(statSync(lockFile).size).toBe(16_384);
  makeRoom(mount);
  await using engine = await openLmdbEngine({ dataDir });
  expect((await engine.check()).problems).toEqual([]);
});

it('logs once that the disk is full, with the directory, and once that there is room again', async ({ skip }) => {
  if (refusal !== undefined) return skip(refusal);
  const records: unknown[] = [];
  const note = (message: string, fields?: LogFields): void => void records.push([message, fields]);
  await using engine = await openLmdbEngine({ dataDir, logger: { ...silentLogger, error: note, info: note } });
  const change = { type: 'put', value: Buffer.alloc(500_000) } as const;
  const put = (key: string) => engine.commit({ key, expectedRevision: 0 as Revision, change });
  fillDisk(mount);
  for (const key of ['/a', '/b']) await expect(put(key)).rejects.toSatisfy((error) => isStorageError(error, 'Full'));
  makeRoom(mount);
  await put('/a');
  await put('/b');
  expect(records).toEqual([
    ['the disk is full; writes are refused until there is room, reads continue', { directory: dataDir, freeBytes: 0 }],
    ['the disk has room again; writes are accepted', { directory: dataDir }],
  ]);
});

it('opens a store on a full disk: it can be read and looked at', async ({ skip }) => {
  if (refusal !== undefined) return skip(refusal);
  await (await openLmdbEngine({ dataDir })).close();
  fillDisk(mount);
  await using engine = await openLmdbEngine({ dataDir });
  expect(await engine.stats()).toMatchObject({ revision: 1, keys: 0 });
});
