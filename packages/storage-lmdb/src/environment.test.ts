// Tests the LMDB environment: which ones it opens, and growth beyond the address space that was mapped at first.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isStorageError } from '@kapstan/storage';
import { open } from 'lmdb';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Environment, WriteSet } from './environment.ts';
import { encodeNumber } from './row-codec.ts';

const binary = { encoding: 'binary', keyEncoding: 'binary' } as const;
let dataDir: string;

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'kapstan-environment-'));
});
afterEach(() => rmSync(dataDir, { recursive: true }));

async function newEnvironment(mapSizeBytes?: number): Promise<Environment> {
  const env = new Environment({ dataDir, ...(mapSizeBytes !== undefined && { mapSizeBytes }) });
  await env.checkFormat(dataDir);
  return env;
}

/** Writes an entry as another program could have done. */
async function putRaw(table: string, key: string, value: string): Promise<void> {
  const root = open<Buffer, Buffer>(dataDir, { ...binary, noSubdir: false, maxDbs: 8 });
  await root.openDB<Buffer, Buffer>(table, binary).put(Buffer.from(key), Buffer.from(value));
  await root.close();
}

describe('the format', () => {
  it.each([
    ['a later one', 'meta', 'format', '2', 'format 2'],
    ['none, but something else', 'current', '/a', 'x', 'no format version'],
  ])('is refused when it is %s', async (_, table, key, value, has) => {
    if (table === 'meta') await (await newEnvironment()).close();
    await putRaw(table, key, value);
    const env = new Environment({ dataDir });
    const refused = env.checkFormat(dataDir);
    await expect(refused).rejects.toThrow(
      `data directory ${dataDir} has ${has}; this program reads and writes format 1`,
    );
    await expect(refused).rejects.toSatisfy((error) => isStorageError(error, 'Corrupt'));
    await env.close();
  });

  it('of a new environment is that of this program, and it begins at revision 1', async () => {
    await (await newEnvironment()).close();
    const env = await newEnvironment();
    expect(env.snapshotRevision()).toBe(1);
    await env.close();
  });
});

describe('the map', () => {
  it('grows with the file, while rows are read and a former read stays as it was', async () => {
    const env = await newEnvironment(1_048_576);
    const rowBytes = 100_000;
    const rows = 200;
    const rowOf = (row: number): Buffer => Buffer.alloc(rowBytes, String.fromCharCode(97 + (row % 26)));
    const held: Buffer[] = [];
    for (let row = 0; row < rows; row += 10) {
      const writes = new WriteSet();
      for (let index = row; index < row + 10; index += 1) writes.put(env.log, encodeNumber(index), rowOf(index));
      const writing = env.write(writes);
      // These rows are read in the earlier snapshot, whose map may be replaced soon.
      for (const { value } of env.log.getRange({ limit: 3 })) held.push(value);
      await writing;
    }
    expect(env.fileBytes()).toBeGreaterThan(10 * 1_048_576);
    expect(env.count(env.log)).toBe(rows);
    for (let row = 0; row < rows; row += 1) expect(env.log.get(encodeNumber(row))?.equals(rowOf(row))).toBe(true);
    expect(held.every((value, index) => value.equals(rowOf(index % 3)))).toBe(true);
    await env.close();
  });
});
