import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { makeDirectory } from './make-directory.ts';

let work: string;
beforeEach(async () => {
  work = await mkdtemp(join(tmpdir(), 'kapstan-directory-'));
});
afterEach(() => rm(work, { recursive: true }));

describe('makeDirectory', () => {
  it('makes it with its parents, for its owner alone; again it does nothing', async () => {
    const path = join(work, 'a', 'b', 'c');
    await makeDirectory(path);
    await makeDirectory(path);
    for (const made of [path, join(work, 'a')]) expect((await stat(made)).mode & 0o777).toBe(0o700);
  });

  it('says what is in the way', async () => {
    await writeFile(join(work, 'file'), '');
    await expect(makeDirectory(join(work, 'file', 'a'))).rejects.toThrow('ENOTDIR');
  });

  it.runIf(process.platform === 'linux')('ends where there is no room for directories', async () => {
    await expect(makeDirectory('/proc/nope/store')).rejects.toThrow(
      "ENOENT: no such file or directory, mkdir '/proc/nope'",
    );
  });
});
