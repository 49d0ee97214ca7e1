// Opening a store where there is no room: a refusal, where LMDB alone would end the process. Needs a tmpfs of its own, which only
// root may mount.
import { execFileSync } from 'node:child_process';
import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type LogFields, type Revision, silentLogger } from '@kapstan/api';
import { isStorageError } from '@kapstan/storage';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openLmdbEngine } from './lmdb-engine.ts';

let mount = '';
let dataDir = '';
let refusal: string | undefined;

beforeEach(() => {
  mount = mkdtempSync(join(tmpdir(), 'kapstan-no-room-'));
  dataDir = join(mount, 'store');
  refusal = mountTmpfs(mount);
});
afterEach(() => {
  if (refusal === undefined) execFileSync('umount', [mount]);
  rmSync(mount, { recursive: true, force: true });
});

/** Of 4 MiB. Answers why there is none; undefined when there is. */
function mountTmpfs(directory: string): string | undefined {
  if (process.getuid?.() !== 0) return 'only root may mount a tmpfs; run the tests as root';
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=4m', 'none', directory], { stdio: 'pipe' });
    return undefined;
  } catch (error) {
    return `no tmpfs can be mounted here: ${(error as Error).message}`;
  }
}

/** Takes all room but so many bytes. */
function fill(exceptBytes = 0): void {
  const spare = join(mount, 'spare');
  writeFileSync(spare, Buffer.alloc(exceptBytes));
  const descriptor = openSync(join(mount, 'ballast'), 'w');
  try {
    for (;;) writeSync(descriptor, Buffer.alloc(4096));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
  } finally {
    closeSync(descriptor);
    rmSync(spare);
  }
}

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
    fill(free);
    await refusedAsFull();
    expect(readdirSync(dataDir)).toEqual([]);
    rmSync(join(mount, 'ballast'));
    await (await openLmdbEngine({ dataDir })).close();
  },
);

it('refuses to open a store whose lock file is gone, or has holes, and keeps the store', async ({ skip }) => {
  if (refusal !== undefined) return skip(refusal);
  await (await openLmdbEngine({ dataDir })).close();
  const lockFile = join(dataDir, 'lock.mdb');
  rmSync(lockFile);
  fill();
  await refusedAsFull();
  expect(readdirSync(dataDir)).toEqual(['data.mdb']);
  writeFileSync(lockFile, '');
  truncateSync(lockFile, 16_384);
  await refusedAsFull();
  expect(statSync(lockFile).size).toBe(16_384);
  rmSync(join(mount, 'ballast'));
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
  fill();
  for (const key of ['/a', '/b']) await expect(put(key)).rejects.toSatisfy((error) => isStorageError(error, 'Full'));
  rmSync(join(mount, 'ballast'));
  await put('/a');
  await put('/b');
  expect(records).toEqual([
    ['The disk is full: writes are refused, reads go on', { directory: dataDir, freeBytes: 0 }],
    ['There is room on the disk again', { directory: dataDir }],
  ]);
});

it('opens a store on a full disk: it can be read and looked at', async ({ skip }) => {
  if (refusal !== undefined) return skip(refusal);
  await (await openLmdbEngine({ dataDir })).close();
  fill();
  await using engine = await openLmdbEngine({ dataDir });
  expect(await engine.stats()).toMatchObject({ revision: 1, keys: 0 });
});
