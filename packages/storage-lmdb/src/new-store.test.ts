// A new store: what the directory holds, also when an earlier first start was cut short.
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openLmdbEngine } from './lmdb-engine.ts';

let dataDir: string;

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'kapstan-new-store-'));
});
afterEach(() => rmSync(dataDir, { recursive: true }));

const workDir = (): string => join(dataDir, 'new-store.tmp');

describe('a new store', () => {
  it('begins with a data file that has its tables, and leaves no work directory', async () => {
    await using engine = await openLmdbEngine({ dataDir });
    expect((await engine.stats()).revision).toBe(1);
    expect(existsSync(workDir())).toBe(false);
    expect(readdirSync(dataDir).sort()).toEqual(['data.mdb', 'lock.1.sock', 'lock.mdb']);
    expect(statSync(join(dataDir, 'data.mdb')).mode & 0o777).toBe(0o600);
  });

  it.each([
    ['half a header', Buffer.alloc(512, 7)],
    ['nothing', Buffer.alloc(0)],
  ])('is made anew when the last attempt left %s', async (_, content) => {
    mkdirSync(workDir());
    writeFileSync(join(workDir(), 'data.mdb'), content);
    await using engine = await openLmdbEngine({ dataDir });
    expect((await engine.stats()).revision).toBe(1);
    expect(existsSync(workDir())).toBe(false);
  });

  it('is never put in the place of a data file that cannot be read', async () => {
    writeFileSync(join(dataDir, 'data.mdb'), Buffer.alloc(512, 7));
    await expect(openLmdbEngine({ dataDir })).rejects.toThrow('it is not an LMDB data file of a known version');
    expect(statSync(join(dataDir, 'data.mdb')).size).toBe(512);
  });
});
