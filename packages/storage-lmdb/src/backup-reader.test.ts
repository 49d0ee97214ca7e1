// Tests that reading a backup shows its contents and does not change it.
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Revision } from '@kapstan/api';
import { isStorageError } from '@kapstan/storage';
import { open } from 'lmdb';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openLmdbBackup } from './backup-reader.ts';
import { openLmdbEngine } from './lmdb-engine.ts';

let work: string;
let backupDir: string;
beforeEach(async () => {
  work = mkdtempSync(join(tmpdir(), 'kapstan-backup-reader-'));
  backupDir = join(work, 'backup');
});
afterEach(() => rmSync(work, { recursive: true }));

async function makeBackup(): Promise<void> {
  await using engine = await openLmdbEngine({ dataDir: join(work, 'store') });
  // The lease ends before the backup is read: an engine that opened the copy would delete the keys.
  const lease = await engine.grantLease(1);
  for (const key of ['/a', '/b']) {
    const change = { type: 'put', value: Buffer.alloc(5_000, key), lease } as const;
    await engine.commit({ key, expectedRevision: 0 as Revision, change });
  }
  await engine.backup(backupDir);
}

describe('a backup', () => {
  it('shows its revision and content, can be checked, and stays unchanged and alone in its directory', async () => {
    await makeBackup();
    const bytes = readFileSync(join(backupDir, 'data.mdb'));
    const backup = await openLmdbBackup(backupDir);
    expect(backup.stats()).toMatchObject({ revision: 3, compactRevision: 0, keys: 2, versions: 2 });
    expect(backup.stats().fileBytes).toBe(bytes.length);
    expect(await backup.check()).toMatchObject({ revision: 3, keys: 2, problems: [] });
    await backup.close();
    expect(readdirSync(backupDir)).toEqual(['data.mdb']);
    expect(readFileSync(join(backupDir, 'data.mdb')).equals(bytes)).toBe(true);
  });

  it('is checked row by row, and its faults are reported', async () => {
    await makeBackup();
    const root = open<Buffer, Buffer>(backupDir, {
      encoding: 'binary',
      keyEncoding: 'binary',
      maxDbs: 8,
      noSubdir: false,
    });
    await root
      .openDB<Buffer, Buffer>('current', { encoding: 'binary', keyEncoding: 'binary' })
      .remove(Buffer.from('/a'));
    await root.close();
    await using backup = await openLmdbBackup(backupDir);
    expect((await backup.check()).problems).toContain('/a lives at 2 but is not current');
  });

  it.each<[string, (file: string) => unknown, string]>([
    ['there is none', () => undefined, 'there is no backup in'],
    ['it is an empty file', (file) => writeFileSync(file, ''), 'there is no backup in'],
    ['it is no store', (file) => writeFileSync(file, 'x'.repeat(9_000)), 'it is not an LMDB data file'],
    ['it is cut short', (file) => makeBackup().then(() => truncateSync(file, 8_192)), 'the data file is cut short'],
  ])('is refused when %s', async (_why, make, message) => {
    const file = join(backupDir, 'data.mdb');
    if (!message.includes('cut')) mkdirSync(backupDir);
    await make(file);
    const error: unknown = await openLmdbBackup(backupDir).catch((refused: unknown) => refused);
    expect(isStorageError(error) && error.detail).toContain(message);
  });

  it('is refused when it is the data of another program', async () => {
    const root = open<Buffer, Buffer>(backupDir, {
      encoding: 'binary',
      keyEncoding: 'binary',
      maxDbs: 8,
      noSubdir: false,
    });
    await root
      .openDB<Buffer, Buffer>('theirs', { encoding: 'binary', keyEncoding: 'binary' })
      .put(Buffer.from('a'), Buffer.from('b'));
    await root.close();
    const error: unknown = await openLmdbBackup(backupDir).catch((refused: unknown) => refused);
    expect(isStorageError(error) && error.detail).toMatch(/there is no store in the backup|cannot open the store/);
  });
});
