// Compiles the programs of the documentation as they are, and runs some of them. The programs of the root's README are
// files of examples/first-controller.
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const pages = [
  'CONTRIBUTING.md',
  ...['docs', 'docs/guide'].flatMap((folder) =>
    readdirSync(join(root, folder)).flatMap((name) => (name.endsWith('.md') ? [`${folder}/${name}`] : [])),
  ),
  ...readdirSync(join(root, 'packages')).map((name) => `packages/${name}/README.md`),
];
/** Name of the file for a program → its text. */
const programs = new Map([...pages.flatMap((page) => programsOf(page)), ['names', namesProgram()] as const]);
let folder: string;
let complaints: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'kapstan-readmes-'));
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  for (const [name, text] of programs) writeFileSync(join(folder, `${name}.ts`), text);
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  const settings = ['--strict', '--skipLibCheck', '--exactOptionalPropertyTypes', '--outDir', 'dist', '--rootDir', '.'];
  const target = ['--module', 'nodenext', '--target', 'es2022', '--lib', 'es2022,esnext.disposable', '--types', 'node'];
  const files = [...programs.keys()].map((name) => `${name}.ts`);
  const run = spawnSync(process.execPath, [tsc, ...settings, ...target, ...files], { cwd: folder, encoding: 'utf8' });
  complaints = run.stdout;
}, 120_000);
afterAll(() => rmSync(folder, { recursive: true }));

/** Returns a page's blocks, named "storage-1" or "operating-1". A block without imports continues the one before it. */
function programsOf(page: string): readonly (readonly [string, string])[] {
  const text = readFileSync(join(root, page), 'utf8');
  const name = page
    .replace(/^packages\/|^docs\/|\/README|\.md$/g, '')
    .replace('/', '-')
    .toLowerCase();
  let before = '';
  return [...text.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, block = ''], index) => {
    before = /^import /m.test(block) ? block : before + block;
    return [`${name}-${index + 1}`, before] as const;
  });
}

/**
 * Returns a program that imports, or reads from an instance, every name in the tables for people who know client-go.
 */
function namesProgram(): string {
  const entries = ['api', 'api/testing', 'client', 'informers', 'controller', 'controller/workqueue', 'testing'];
  const all = [...entries, 'kinds/core/v1'].map((entry) => `export * from '@kapstan/${entry}';\n`);
  const instances: Readonly<Record<string, string>> = {
    client: 'Client',
    ctx: 'ReconcilerContext<ConfigMap>',
    factory: 'SharedInformerFactory',
    informer: 'SharedInformer<ConfigMap>',
    indexer: 'Indexer<ConfigMap>',
    lister: 'Lister<ConfigMap>',
    ControllerBuilder: 'ControllerBuilder<ConfigMap>',
  };
  const imported = new Set(['ConfigMap', ...Object.values(instances).map((type) => type.replace(/<.*/, ''))]);
  const members: string[] = [];
  for (const [, root = '', member] of namesOf('docs/coming-from-client-go.md')) {
    const instance = instances[root];
    if (instance === undefined) imported.add(root);
    else if (member !== undefined) members.push(`export type _${members.length} = all.${instance}['${member}'];\n`);
  }
  const used = members.join('').replace(/<ConfigMap>/g, '<all.ConfigMap>');
  return `${all.join('')}import type * as all from './names.js';\nimport { ${[...imported].join(', ')} } from './names.js';\n${used}`;
}

/** Returns the code in the second column of a page's tables, except packages: "root.member(…)". */
function namesOf(page: string): readonly RegExpMatchArray[] {
  const lines = readFileSync(join(root, page), 'utf8').split('\n');
  const cells = lines.flatMap((line) => (line.startsWith('| ') ? [line.split('|')[2] ?? ''] : []));
  return cells.flatMap((cell) => [...cell.matchAll(/`(\w+)(?:\.([\w$]+))?[^`]*`/g)]);
}

it('are found', () => {
  expect(namesOf('docs/coming-from-client-go.md').length).toBeGreaterThan(100);
  expect([...programs.keys()]).toEqual(
    expect.arrayContaining(['contributing-1', 'storage-1', 'testing-2', 'coming-from-client-go-1']),
  );
});

it.each([...programs.keys()])('%s compiles', (name) => {
  expect(complaints.split('\n').filter((line) => line.startsWith(`${name}.ts`))).toEqual([]);
});

// Programs missing here need an etcd at its usual port, or a cluster.
it.each([
  ['api-1', /^$/],
  ['storage-1', /^ADDED\n1 \d+ {2}web\n$/],
  ['storage-lmdb-1', /^put \/a\/b 2\ntrue 1 false\n$/],
  ['cacher-1', /^0 \d+\n$/],
  ['control-plane-1', /^https:\/\/127\.0\.0\.1:\d+ .*ca\.crt \S+\n$/],
  ['testing-1', /^$/],
  ['testing-2', /^[#ℹ] pass 1\n[#ℹ] fail 0$/m],
  ['testing-3', /^configmaps: create, patch \(echo owns ConfigMap\)\n$/],
  ['guide-first-controller-2', /^[#ℹ] pass 1\n[#ℹ] fail 0$/m],
  ['guide-testing-1', /^[#ℹ] pass 1\n[#ℹ] fail 0$/m],
  ['guide-testing-2', /^[#ℹ] pass 1\n[#ℹ] fail 0$/m],
  ['guide-testing-3', /^add \.needs\(Secret, \['create'\]\)\n$/],
  ['guide-webhooks-1', /^[#ℹ] pass 1\n[#ℹ] fail 0$/m],
  ['guide-rights-1', /^# Generated by kapstan generate rbac from sites\.ts\. Do not edit\.\n/],
  ['guide-storage-stack-1', /^ADDED plates\nMODIFIED windows\nDELETED windows\n0 left\n$/],
  ['generate-2', /^# Generated by kapstan generate crds from echo\.ts\. Do not edit\.\n---\napiVersion: /],
  ['generate-3', /^demo\.dev\/definitions\.ts \/\/ Generated by kapstan generate types from sites\.yaml\./],
])('%s runs and ends', { timeout: 60_000 }, (name, output) => {
  const cwd = join(folder, `run-${name}`);
  mkdirSync(cwd);
  const run = spawnSync(process.execPath, [join(folder, 'dist', `${name}.js`)], { cwd, encoding: 'utf8' });
  expect([run.status, run.stderr]).toEqual([0, '']);
  expect(run.stdout).toMatch(output);
});
