import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';

interface Cruise {
  readonly modules: readonly { source: string; dependencies: readonly { module: string; resolved: string }[] }[];
  readonly summary: { readonly violations: readonly { from: string; rule: { name: string } }[] };
}

const root = new URL('../..', import.meta.url).pathname;
const fixtures = 'test/lint-fixtures/layers/';
const { forbidden } = createRequire(import.meta.url)('../../.dependency-cruiser.cjs') as {
  forbidden: readonly { name: string }[];
};
// `testing` is the topmost package: it may import every other one, so its layer rule cannot be broken.
const names = forbidden.map((rule) => rule.name).filter((name) => name !== 'layer:testing');
/**
 * The rules of folders come from one list per package: its first folder, which may import no other, represents all of them.
 */
const firstFolder = new Map(
  names
    .filter((name) => name.startsWith('folder:'))
    .reverse()
    .map((name) => [name.split('/')[0], name]),
);
const rules = names.filter((name) => !name.startsWith('folder:') || firstFolder.get(name.split('/')[0]) === name);

function cruise(folder: string, env: Record<string, string>): Cruise {
  const bin = join(root, 'node_modules/dependency-cruiser/bin/dependency-cruise.mjs');
  const args = [bin, '--config', '.dependency-cruiser.cjs', '--output-type', 'json', folder];
  const { stdout } = spawnSync(process.execPath, args, {
    cwd: root,
    encoding: 'utf8',
    env: { ...process.env, ...env },
    maxBuffer: 1 << 28,
  });
  return JSON.parse(stdout) as Cruise;
}

describe('architecture/layers.json', () => {
  let result: Cruise;
  beforeAll(() => {
    result = cruise(fixtures, { KAPSTAN_LAYERS_ROOT: fixtures });
  });

  it.each(rules)('%s refuses its fixture', (rule) => {
    expect(result.summary.violations.map((violation) => violation.rule.name)).toContain(rule);
  });

  it('refuses nothing that the table allows', () => {
    const files = result.summary.violations.map((violation) => violation.from);
    expect(files.filter((file) => file.endsWith('/src/index.ts'))).toEqual([]);
    const connect = result.summary.violations.filter((violation) => violation.from.endsWith('/connect.ts'));
    expect(connect.map((violation) => violation.rule.name)).toEqual(['layer:controller:src/connect.ts']);
  });

  it('sees packages by name as their sources', () => {
    const { modules } = cruise('test/lint-fixtures/resolution', {});
    const fixture = modules.find((module) => module.source.startsWith('test/lint-fixtures/'));
    const resolved = fixture?.dependencies.map((dependency) => dependency.resolved).sort();
    expect(resolved).toEqual([
      'packages/controller/src/workqueue/index.ts',
      'packages/kinds/src/facts/index.ts',
      'packages/kinds/src/index.ts',
    ]);
  });
});
