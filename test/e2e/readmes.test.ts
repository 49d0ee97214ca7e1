// Compiles the programs of the documentation and the examples of doc comments as they are, and runs some of them. The programs of the root's README are
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
/** Packages whose exports are imported by programs, so that each non-obvious one has an example. */
const withExamples = ['api', 'client', 'informers', 'controller', 'testing'];
/**
 * Exports whose name and type are self-explanatory, or that a program receives rather than makes: predicates of errors are alike, and
 * queues and their parts are client-go's.
 */
const obvious = new Set(
  `isAlreadyExists isForbidden isInternalError isMethodNotSupported isServerTimeout isServiceUnavailable isTimeout
  isTooLargeResourceVersion isUnauthorized toRevision isInCluster parseKubeconfig TransportError ConflatingQueue
  DeletedFinalStateUnknown DeltaFifo InOrderFifo FifoClosedError UntilInterruptedError metaNamespaceIndex namespaceIndex
  Reflector ControllerMetrics EventCorrelator InformerCache resourceVersionChanged isTerminalError bindingOf roleObject
  roleRules convertedDefinitions installControllers TestCluster`.split(/\s+/),
);
/** Name of the file for a program → its text. */
const programs = new Map([
  ...pages.flatMap((page) => programsOf(page)),
  ...withExamples.flatMap((name) => examplesOf(name)),
  ['names', namesProgram()] as const,
]);
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

/** Returns the examples of a package's doc comments, named "example-api-1". Each is a whole program. */
function examplesOf(name: string): readonly (readonly [string, string])[] {
  const blocks = sourcesOf(name).flatMap((text) =>
    [...text.matchAll(/^ *\* @example\n *\* ```ts\n(.*?)^ *\* ```$/gms)].map(([, block = '']) => block),
  );
  return blocks.map((block, index) => [`example-${name}-${index + 1}`, block.replace(/^ *\* ?/gm, '')] as const);
}

/** Returns the exports of a package whose own doc comment has an example. */
function exportsWithExample(name: string): ReadonlySet<string> {
  // The pattern finds the same examples as examplesOf, so that each counted one is compiled.
  const exported =
    /^ \* @example\n \* ```ts\n(?: \*(?!\/).*\n)*? \* ```\n \*\/\nexport (?:async )?(?:function|class|const) (\w+)/gm;
  return new Set(sourcesOf(name).flatMap((text) => [...text.matchAll(exported)].map(([, symbol = '']) => symbol)));
}

/** Returns the texts of a package's sources. */
function sourcesOf(name: string): readonly string[] {
  const folder = join(root, 'packages', name, 'src');
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
  return files
    .filter((file) => !file.endsWith('.test.ts'))
    .sort()
    .map((file) => readFileSync(join(folder, file), 'utf8'));
}

/** Returns the classes, functions and values that a package exports by its name. */
function valuesOf(name: string): readonly string[] {
  const index = readFileSync(join(root, 'packages', name, 'src/index.ts'), 'utf8');
  const lists = [...index.matchAll(/^export \{(.*?)\}/gms)].flatMap(([, list = '']) => list.split(','));
  return lists.map((item) => item.trim()).filter((item) => item !== '' && !item.startsWith('type '));
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

it.each(withExamples)('show how each export of %s is used, unless that is obvious', (name) => {
  const all = `${[...programs].flatMap(([program, text]) => (program === 'names' ? [] : [text])).join('')}${readFileSync(join(root, 'README.md'), 'utf8')}`;
  const isUsed = (value: string): boolean => new RegExp(`\\b${value}\\b`).test(all);
  const known = new Set([...exportsWithExample(name), ...obvious]);
  expect(valuesOf(name).filter((value) => !known.has(value) && !isUsed(value))).toEqual([]);
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
