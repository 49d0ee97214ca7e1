// The programs in the READMEs of the packages that store: each compiles as it stands there, and does what it is for.
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const packages = ['storage', 'storage-lmdb', 'storage-etcd', 'cacher', 'control-plane'];
let folder: string;
let complaints: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'kapstan-readmes-'));
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  for (const name of packages) writeFileSync(join(folder, `${name}.ts`), programOf(name));
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  const settings = ['--strict', '--skipLibCheck', '--exactOptionalPropertyTypes', '--outDir', 'dist', '--rootDir', '.'];
  const target = ['--module', 'nodenext', '--target', 'es2022', '--lib', 'es2022,esnext.disposable', '--types', 'node'];
  const files = packages.map((name) => `${name}.ts`);
  const run = spawnSync(process.execPath, [tsc, ...settings, ...target, ...files], { cwd: folder, encoding: 'utf8' });
  complaints = run.stdout;
}, 120_000);
afterAll(() => rmSync(folder, { recursive: true }));

/** The first program of a README. */
function programOf(name: string): string {
  const text = readFileSync(join(root, 'packages', name, 'README.md'), 'utf8');
  return /```ts\n(.*?)```/s.exec(text)?.[1] ?? '';
}

it.each(packages)('the program of %s compiles', (name) => {
  expect(programOf(name)).toContain('import ');
  expect(complaints.split('\n').filter((line) => line.startsWith(`${name}.ts`))).toEqual([]);
});

// That of storage-etcd wants an etcd at its usual port.
it.each([
  ['storage', /^ADDED\n1 \d+ {2}web\n$/],
  ['storage-lmdb', /^put \/a\/b 2\ntrue 1 false\n$/],
  ['cacher', /^0 \d+\n$/],
  ['control-plane', /^https:\/\/127\.0\.0\.1:\d+ .*ca\.crt \S+\n$/],
])('the program of %s runs and ends', { timeout: 60_000 }, (name, output) => {
  const cwd = join(folder, `run-${name}`);
  mkdirSync(cwd);
  const run = spawnSync(process.execPath, [join(folder, 'dist', `${name}.js`)], { cwd, encoding: 'utf8' });
  expect([run.status, run.stderr]).toEqual([0, '']);
  expect(run.stdout).toMatch(output);
});
