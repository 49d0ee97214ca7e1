// test/kapstan/built-packages.ts keeps tests on dist from passing on old code.
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { requireBuilt, requireJoined } from '../kapstan/built-packages.ts';

const root = mkdtempSync(join(tmpdir(), 'kapstan-built-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

function makePackage(name: string, build: string): string {
  const folder = join(root, name);
  for (const inner of ['src', 'dist']) mkdirSync(join(folder, inner), { recursive: true });
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name, scripts: { build } }));
  return folder;
}

it('accepts a build until one of its sources changes or a new one is added', () => {
  const folder = makePackage('one', 'tsc -b');
  const source = join(folder, 'src', 'a.ts');
  expect(() => requireBuilt(['one'], root)).toThrow('run: npx tsc -b');
  writeFileSync(source, 'export {};');
  const version = createHash('sha256').update('export {};').digest('hex');
  const info = { fileNames: ['../src/a.ts'], fileInfos: [{ version }] };
  writeFileSync(join(folder, 'dist', '.tsbuildinfo'), JSON.stringify(info));
  requireBuilt(['one'], root);
  writeFileSync(join(folder, 'src', 'a.test.ts'), 'tests are not run from dist');
  requireBuilt(['one'], root);
  writeFileSync(source, 'export { };');
  expect(() => requireBuilt(['one'], root)).toThrow(source);
  writeFileSync(source, 'export {};');
  writeFileSync(join(folder, 'src', 'b.ts'), '');
  expect(() => requireBuilt(['one'], root)).toThrow('b.ts');
});

it('refuses a package whose modules were joined before its last compilation', () => {
  const folder = makePackage('two', 'tsc -b && node ../../scripts/join-modules.mjs');
  const [compiled, joined] = ['.tsbuildinfo', 'joined.tsbuildinfo'].map((name) => join(folder, 'dist', name)) as [
    string,
    string,
  ];
  requireJoined(root);
  const info = JSON.stringify({ fileNames: [], fileInfos: [] });
  writeFileSync(compiled, info);
  expect(() => requireJoined(root)).toThrow('two: compiled after the modules were joined; run: npm run join');
  writeFileSync(joined, info);
  requireJoined(root);
  writeFileSync(compiled, `${info} `);
  expect(() => requireBuilt(['two'], root)).toThrow('two: compiled after');
});
