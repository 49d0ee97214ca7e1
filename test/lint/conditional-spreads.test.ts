// The conditional spreads, `...(x === undefined ? {} : { x })`, of each package. Options are declared as `x?: T | undefined` and take `x`
// unchanged. The remaining spreads are needed where the absence of a member matters:
// - objects that are sent, stored, signed or published: kinds, Status, audit events, managedFields, OpenAPI, attributes of spans;
// - options that are spread over defaults, where `undefined` would replace the default: openLmdbEngine, openEtcdEngine,
//   builtinResources, fast-check;
// - implementations of a port with optional methods, which a caller looks for: AdmissionPlugin, ResourceStrategy, ListerWatcher;
// - objects that Node, undici or a test compares by their members: headers, TLS options, preconditions, names of objects.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Maximum number for each package; packages that are not listed have none. */
const most: Readonly<Record<string, number>> = {
  api: 2,
  apiextensions: 13,
  apiserver: 33,
  client: 8,
  'control-plane': 13,
  controller: 4,
  informers: 4,
  kubernetes: 25,
  storage: 6,
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
