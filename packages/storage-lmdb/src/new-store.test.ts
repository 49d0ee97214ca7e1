// A new store, also when an earlier first start was cut short.
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Revision } from '@kapstan/api';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openLmdbEngine } from './lmdb-engine.ts';
import { restoreLmdbBackup } from './store-restore.ts';

let dataDir: string;

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'kapstan-new-store-'));
});
afterEach(() => rmSync(dataDir, { recursive: true }));

const mark = (): string => join(dataDir, 'new-store.tmp');
const torn = Buffer.alloc(512, 7);

describe('a new store', () => {
  it('has no mark once it is open', async () => {
    await using engine = await openLmdbEngine({ dataDir });
    expect((await engine.stats()).revision).toBe(1);
    expect(readdirSync(dataDir).sort()).toEqual(['data.mdb', 'lock.1.sock', 'lock.mdb']);
  });

  it.each([
    ['a torn header', torn],
    ['nothing', Buffer.alloc(0)],
  ])('is made anew when the last attempt left %s and its mark', async (_, content) => {
    writeFileSync(join(dataDir, 'data.mdb'), content);
    writeFileSync(mark(), '');
    await using engine = await openLmdbEngine({ dataDir });
    expect((await engine.stats()).revision).toBe(1);
    expect(existsSync(mark())).toBe(false);
  });

  it('never takes the place of a data file without a mark, whatever it holds', async () => {
    writeFileSync(join(dataDir, 'data.mdb'), torn);
    await expect(openLmdbEngine({ dataDir })).rejects.toThrow('it is not an LMDB data file of a known version');
    expect(statSync(join(dataDir, 'data.mdb')).size).toBe(512);
  });

  it('is not made anew by the mark of an earlier attempt when a backup was restored since', async () => {
    const backupDir = mkdtempSync(join(tmpdir(), 'kapstan-backup-'));
    const first = await openLmdbEngine({ dataDir: join(dataDir, 'first') });
    await first.commit({
      key: '/a',
      expectedRevision: 0 as Revision,
      change: { type: 'put', value: Buffer.from('v') },
    });
    await first.backup(backupDir);
    await first.close();
    const target = join(dataDir, 'second');
    mkdirSync(target, { mode: 0o700 });
    writeFileSync(join(target, 'new-store.tmp'), '');
    await restoreLmdbBackup({ backupDir, dataDir: target });
    await using second = await openLmdbEngine({ dataDir: target });
    expect((await second.get('/a')).kv?.key).toBe('/a');
    rmSync(backupDir, { recursive: true });
  });
});
