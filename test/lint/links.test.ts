// Checks links in the documentation with scripts/docs.mjs --links, which is a part of `npm run docs`.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const check = (...files: readonly string[]) =>
  spawnSync(process.execPath, ['scripts/docs.mjs', '--links', ...files], { cwd: root, encoding: 'utf8' });

it('lead to files and headings that are there, in every page', () => {
  const { status, stdout, stderr } = check();
  expect([status, stderr, stdout]).toEqual([0, '', '0 broken links\n']);
});

it('are found where they are broken', () => {
  const page = 'test/lint-fixtures/links/page.md';
  const { status, stdout, stderr } = check(page);
  expect([status, stdout]).toEqual([1, '3 broken links\n']);
  expect(stderr.trim().split('\n')).toEqual(
    ['nowhere.md', 'page.md#nothing', '#nothing'].map((link) => `${page}: ${link}`),
  );
});
