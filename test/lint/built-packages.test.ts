// test/kapstan/built-packages.ts keeps tests on dist from passing on old code.
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { requireBuilt } from '../kapstan/built-packages.ts';

const root = mkdtempSync(join(tmpdir(), 'kapstan-built-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

it('accepts a build until one of its sources changes or a new one is added', () => {
  const folder = join(root, 'one');
  for (const name of ['src', 'dist']) mkdirSync(join(folder, name), { recursive: true });
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
