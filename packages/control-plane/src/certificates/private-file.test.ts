import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { writePrivateFile } from './private-file.ts';

describe('writePrivateFile', () => {
  let directory: string;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'kapstan-private-'));
  });
  afterEach(() => rm(directory, { recursive: true }));

  const modeOf = async (file: string): Promise<number> => (await stat(file)).mode & 0o777;

  it('takes the place of a file that others could read', async () => {
    const file = join(directory, 'kubeconfig');
    await writeFile(file, 'old');
    await chmod(file, 0o644);
    await writePrivateFile(file, 'new');
    expect(await readFile(file, 'utf8')).toBe('new');
    expect(await modeOf(file)).toBe(0o600);
    expect(await readdir(directory)).toEqual(['kubeconfig']);
  });

  it('does not write into what a killed process of the same id has left', async () => {
    const left = join(directory, `ready.json.${process.pid}.tmp`);
    await writeFile(left, 'half of');
    await chmod(left, 0o666);
    await writePrivateFile(join(directory, 'ready.json'), '{}');
    expect(await readdir(directory)).toEqual(['ready.json']);
    expect(await modeOf(join(directory, 'ready.json'))).toBe(0o600);
  });

  it('leaves no copy of the secret behind when it cannot put the file in its place', async () => {
    await mkdir(join(directory, 'sa.key'));
    await expect(writePrivateFile(join(directory, 'sa.key'), 'secret')).rejects.toThrow(/EISDIR/);
    expect(await readdir(directory)).toEqual(['sa.key']);
  });
});
