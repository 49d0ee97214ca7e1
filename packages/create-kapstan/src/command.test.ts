import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { main } from './command.ts';

let directory: string;
let out = '';
let err = '';
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'create-kapstan-'));
  [out, err] = ['', ''];
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    out += text;
    return true;
  });
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
    err += text;
    return true;
  });
});
afterEach(async () => {
  vi.restoreAllMocks();
  await rm(directory, { recursive: true });
});

it('creates a project and says what is next', async () => {
  expect(await main(['my-controller', '--no-install'], { directory })).toBe(0);
  expect(await readdir(directory)).toEqual(['my-controller']);
  expect(out).toMatch(/^Created 16 files in my-controller\n\nNext:\n {2}cd my-controller\n {2}npm install\n/);
  expect(err).toBe('');
});

it('answers with its name: help, version, errors', async () => {
  const command = 'kapstan init';
  expect(await main(['--help'], { directory, command })).toBe(0);
  expect(out).toContain('kapstan init NAME [flags]');
  expect(await main(['--version'], { directory, command })).toBe(0);
  expect(out).toMatch(/kapstan init \d+\.\d+\.\d+\n$/);
  expect(await main([], { directory, command })).toBe(2);
  expect(err).toBe("kapstan init: a NAME is required\nSee 'kapstan init --help' for usage.\n");
  expect(await main(['A'], { directory })).toBe(1);
  expect(err).toContain('create-kapstan: name "A": must consist of');
  expect(await readdir(directory)).toEqual([]);
});
