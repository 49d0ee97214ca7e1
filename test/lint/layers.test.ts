import { execFileSync, spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';

interface Cruise {
  readonly modules: readonly { source: string; dependencies: readonly { module: string; resolved: string }[] }[];
  readonly summary: { readonly violations: readonly { from: string; rule: { name: string } }[] };
}

const root = new URL('../..', import.meta.url).pathname;
const fixtures = 'test/lint-fixtures/layers/';
const require = createRequire(import.meta.url);
const { forbidden } = require('../../.dependency-cruiser.cjs') as { forbidden: readonly { name: string }[] };
const { packages, folderOrder } = require('../../architecture/layers.json') as {
  packages: Readonly<Record<string, unknown>>;
  folderOrder: Readonly<Record<string, readonly string[]>>;
};
// `testing` is the topmost package: it may import every other one, so its layer rule cannot be broken.
const names = forbidden.map((rule) => rule.name).filter((name) => name !== 'layer:testing');
/**
 * The rules of folders come from one list per package, so its first folder, which may import no other, represents all of them, and one
 * group of folders all groups. Beside these are a folder within another that comes later, and a group.
 */
const isRepeated = (name: string, at: number): boolean =>
  /^(?:folder|siblings):/.test(name) && names.findIndex((other) => other.split('/')[0] === name.split('/')[0]) < at;
const rules = names.filter((name, at) => !isRepeated(name, at));
const alsoSeen = ['folder:apiserver/admission/matching', 'folder:kubernetes/core/*'];

/** Returns the folders with sources of each package, as paths below `src`; "." is that of the files in no folder. */
function foldersByPackage(): ReadonlyMap<string, ReadonlySet<string>> {
  const files = execFileSync('git', ['ls-files', 'packages/*/src/**.ts'], { cwd: root, encoding: 'utf8' }).split('\n');
  const folders = new Map<string, Set<string>>();
  for (const file of files) {
    const [, name = '', inside] = /^packages\/([^/]+)\/src\/(.*)$/.exec(file) ?? [];
    if (inside === undefined || /\.(test|test-d)\.ts$/.test(inside)) continue;
    folders.set(name, (folders.get(name) ?? new Set()).add(dirname(inside)));
  }
  return folders;
}

/** Returns the entry of an order that holds a folder: its own, that of all folders beside it, or that of generated code. */
function entryOf(folder: string, order: readonly string[]): string | undefined {
  const names = [folder, `${dirname(folder)}/*`, ...(/^generated\//.test(folder) ? ['generated'] : [])];
  return names.find((name) => order.includes(name));
}

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

  it.each([...rules, ...alsoSeen])('%s refuses its fixture', (rule) => {
    expect(result.summary.violations.map((violation) => violation.rule.name)).toContain(rule);
  });

  it('refuses nothing that the table allows', () => {
    const files = result.summary.violations.map((violation) => violation.from);
    expect(files.filter((file) => file.endsWith('/src/index.ts'))).toEqual([]);
    const connect = result.summary.violations.filter((violation) => violation.from.endsWith('/connect.ts'));
    expect(connect.map((violation) => violation.rule.name)).toEqual(['layer:controller:src/connect.ts']);
  });

  it('gives every folder of every package a place in the order of its package, and no other', () => {
    const folders = foldersByPackage();
    expect(Object.keys(folderOrder)).toEqual(Object.keys(packages));
    expect([...folders.keys()].sort()).toEqual(Object.keys(packages).sort());
    for (const [name, inside] of folders) {
      const order = folderOrder[name] ?? [];
      const missing = [...inside].filter((folder) => entryOf(folder, order) === undefined);
      const unused = order.filter((entry) => ![...inside].some((folder) => entryOf(folder, order) === entry));
      expect({ name, missing, unused }).toEqual({ name, missing: [], unused: [] });
      expect(order).toEqual([...new Set(order)]);
    }
  });

  it('finds a folder that has no place', () => {
    const order = ['rooms', 'kinds', 'kinds/*', '.'];
    const held = ['.', 'rooms', 'kinds', 'kinds/pods'].map((folder) => entryOf(folder, order));
    expect(held).toEqual(['.', 'rooms', 'kinds', 'kinds/*']);
    expect(['attic', 'rooms/cellar', 'kinds/pods/spec'].map((folder) => entryOf(folder, order))).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
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
