// The conditional spreads, `...(x === undefined ? {} : { x })`, of each package. Options say `x?: T | undefined` and take `x` as it is;
// a spread stays where absence is seen: in objects that are serialized, compared by their keys, or spread over others.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** How many each package may have; packages that are not listed have none. */
const most: Readonly<Record<string, number>> = {
  api: 9,
  apiextensions: 16,
  apiserver: 36,
  cacher: 1,
  client: 11,
  'control-plane': 15,
  controller: 11,
  informers: 5,
  kubernetes: 25,
  storage: 8,
  testing: 1,
};

const spread = /=== undefined \? \{\}|\.\.\.\([^()]*!== undefined && \{/g;

it('no package writes more conditional spreads than it has', () => {
  const files = execFileSync('git', ['ls-files', 'packages/*/src/**.ts'], { cwd: root, encoding: 'utf8' });
  const counts = new Map<string, number>();
  for (const file of files.split('\n').filter((name) => name !== '' && !name.endsWith('.test.ts'))) {
    const [, name = ''] = file.split('/');
    const found = readFileSync(join(root, file), 'utf8').match(spread)?.length ?? 0;
    counts.set(name, (counts.get(name) ?? 0) + found);
  }
  expect([...counts].filter(([name, count]) => count > (most[name] ?? 0))).toEqual([]);
});
