// Checks that a reader can take in a folder at a glance: it has at most 40 sources. Tests, fixtures and generated code do not count.
import { execFileSync } from 'node:child_process';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const most = 40;

it(`no folder has more than ${most} sources beside each other`, () => {
  const files = execFileSync('git', ['ls-files', 'packages/*/src/**.ts'], { cwd: root, encoding: 'utf8' });
  const counts = new Map<string, number>();
  for (const file of files.split('\n').filter((name) => name !== '' && !/\.test\.ts$|\/generated\//.test(name)))
    counts.set(dirname(file), (counts.get(dirname(file)) ?? 0) + 1);
  expect(counts.size).toBeGreaterThan(50);
  expect([...counts].filter(([, count]) => count > most)).toEqual([]);
});
