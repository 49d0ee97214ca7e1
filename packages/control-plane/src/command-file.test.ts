import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { afterAll, expect, it } from 'vitest';
import { commandFile } from './command-file.ts';

const root = mkdtempSync(join(tmpdir(), 'kapstan-command-file-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const chosen = (): string =>
  relative(root, fileURLToPath(commandFile(pathToFileURL(join(root, 'control-plane', '/')))));

function write(path: string, seconds: number): void {
  const file = join(root, path);
  mkdirSync(join(file, '..'), { recursive: true });
  writeFileSync(file, '');
  utimesSync(file, seconds, seconds);
}

it('is the bundle until a package is compiled after it', () => {
  write('control-plane/dist/command.js', 100);
  write('control-plane/dist/.tsbuildinfo', 100);
  write('storage/dist/.tsbuildinfo', 100);
  expect(chosen(), 'nothing is bundled').toBe('control-plane/dist/command.js');
  write('control-plane/dist/bundled/command.js', 200);
  expect(chosen()).toBe('control-plane/dist/bundled/command.js');
  write('storage/dist/.tsbuildinfo', 201);
  expect(chosen(), 'another package is newer').toBe('control-plane/dist/command.js');
});

it('is the bundle where packages are installed, which leave out what the compiler notes', () => {
  rmSync(join(root, 'control-plane/dist/.tsbuildinfo'));
  rmSync(join(root, 'storage/dist/.tsbuildinfo'));
  write('.package-lock.json', 300);
  expect(chosen()).toBe('control-plane/dist/bundled/command.js');
});
