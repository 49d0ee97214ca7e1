// Checks that the page that @kapstan/inspector embeds matches its sources, is small, and loads nothing from elsewhere.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const most = 40_000;

it('the embedded page is made from packages/inspector/page', () => {
  const { stderr, status } = spawnSync(process.execPath, ['scripts/inspector-page.mjs', '--check'], {
    cwd: root,
    encoding: 'utf8',
  });
  expect([status, stderr]).toEqual([0, '']);
});

it('the embedded page has at most 40 KB and names no other address', () => {
  const page = readFileSync(new URL('../../packages/inspector/src/generated/page.ts', import.meta.url), 'utf8');
  expect(page.length).toBeLessThan(most);
  expect(page).not.toMatch(/https?:\/\//);
});

it('the sources of the page fit their types', () => {
  const tsc = 'node_modules/typescript/bin/tsc';
  const { stdout } = spawnSync(process.execPath, [tsc, '-p', 'packages/inspector/page/tsconfig.json'], {
    cwd: root,
    encoding: 'utf8',
  });
  expect(stdout).toBe('');
});
