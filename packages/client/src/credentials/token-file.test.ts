import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLogger } from '@kapstan/api';
import { VirtualClock } from '@kapstan/api/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { TokenFile } from './token-file.ts';

describe('TokenFile', () => {
  let directory: string;
  let path: string;
  let clock: VirtualClock;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'kapstan-token-'));
    path = join(directory, 'token');
    clock = new VirtualClock();
  });
  afterEach(async () => {
    await rm(directory, { recursive: true });
  });
  const open = (fallback?: string): TokenFile => new TokenFile({ path, clock, logger: silentLogger, fallback });
  const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

  it('trims the token and reads it anew after 50 seconds', async () => {
    await writeFile(path, ' one\n');
    const file = open();
    expect(await file.headers()).toEqual(bearer('one'));
    await writeFile(path, 'two');
    await clock.advance(49_999);
    expect(await file.headers()).toEqual(bearer('one'));
    await clock.advance(1);
    expect(await file.headers()).toEqual(bearer('two'));
  });

  it('reads it anew after a 401 and says whether that helped', async () => {
    await writeFile(path, 'one');
    const file = open();
    const used = await file.headers();
    expect(await file.onUnauthorized(used)).toBe(false);
    await writeFile(path, 'two');
    expect(await file.onUnauthorized(used)).toBe(true);
    expect(await file.headers()).toEqual(bearer('two'));
  });

  it('keeps the last token when the file goes away', async () => {
    await writeFile(path, 'one');
    const file = open();
    await file.headers();
    await rm(path);
    await clock.advance(60_000);
    expect(await file.headers()).toEqual(bearer('one'));
  });

  it('fails while there has never been a token, unless one was given beside the file', async () => {
    await expect(open().headers()).rejects.toThrow('ENOENT');
    await writeFile(path, '\n');
    await expect(open().headers()).rejects.toThrow(`read empty token from file ${JSON.stringify(path)}`);
    expect(await open('static').headers()).toEqual(bearer('static'));
    await writeFile(path, 'fresh');
    expect(await open('static').headers()).toEqual(bearer('fresh'));
  });
});
