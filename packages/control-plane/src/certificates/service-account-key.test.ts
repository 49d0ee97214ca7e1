import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ensureServiceAccountKey } from './service-account-key.ts';

describe('ensureServiceAccountKey', () => {
  let directory: string;
  beforeEach(async () => {
    directory = join(await mkdtemp(join(tmpdir(), 'kapstan-sa-')), 'pki');
  });
  afterEach(() => rm(join(directory, '..'), { recursive: true }));

  it('makes a key once, in a directory and a file that only the owner may read', async () => {
    const key = await ensureServiceAccountKey(directory);
    expect(await ensureServiceAccountKey(directory)).toBe(key);
    expect(await readdir(directory)).toEqual(['sa.key']);
    expect((await stat(directory)).mode & 0o777).toBe(0o700);
    expect((await stat(join(directory, 'sa.key'))).mode & 0o777).toBe(0o600);
  });

  it('refuses a file that is no key and names it: tokens were signed with the key that was there', async () => {
    await ensureServiceAccountKey(directory);
    await writeFile(join(directory, 'sa.key'), 'x');
    await expect(ensureServiceAccountKey(directory)).rejects.toThrow(`${join(directory, 'sa.key')}: `);
  });
});
