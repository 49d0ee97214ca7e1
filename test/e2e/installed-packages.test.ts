// Checks the packages as a user gets them from `npm pack`: their files, that npm installs the ones that a controller
// needs, that every entry point type-checks under strict settings with only the packages' own dependencies, and that
// they run, both as modules and required.
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { copyFile, mkdir, mkdtemp, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, posix } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { ConfigMap } from '@kapstan/kinds/core/v1';
import { testCluster } from '@kapstan/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { entryPointFaults } from '../../scripts/package-checks.mjs';

interface PackageFile {
  readonly name: string;
  readonly version: string;
  readonly exports: Readonly<Record<string, unknown>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>;
}

const root = fileURLToPath(new URL('../..', import.meta.url));
let folder: string;
const manifests: PackageFile[] = [];
/** The release command's checks of each package. */
const releases: Parameters<typeof entryPointFaults>[0][] = [];
/** Package → paths in its archive. */
const packed = new Map<string, readonly string[]>();

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kapstan-installed-'));
  await mkdir(join(folder, 'packed'));
  execFileSync('npm', ['pack', '--silent', '-w', 'packages', '--pack-destination', join(folder, 'packed')], {
    cwd: root,
    stdio: 'ignore',
  });
  for (const archive of await readdir(join(folder, 'packed'))) await install(archive);
  await link('@types/node');
  for (const file of ['shout.ts', 'main.ts'])
    await copyFile(join(root, 'examples/first-controller/src', file), join(folder, file));
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }');
}, 180_000);
afterAll(() => rm(folder, { recursive: true }));

async function install(archive: string): Promise<void> {
  const name = archive.replace(/^(?:kapstan-)?(.*)-\d+\.\d+\.\d+\.tgz$/, '$1');
  const target = join(folder, 'node_modules', archive.startsWith('kapstan-') ? `@kapstan/${name}` : name);
  await mkdir(target, { recursive: true });
  execFileSync('tar', ['-xzf', join(folder, 'packed', archive), '--strip-components=1', '-C', target]);
  packed.set(name, await filesOf(target));
  const manifest = await manifestOf(target);
  manifests.push(manifest);
  releases.push({ name: manifest.name, manifest, archive: join(folder, 'packed', archive) });
  const needed = Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies });
  for (const dependency of needed) if (!isOwn(dependency)) await link(dependency);
}

const isOwn = (name: string): boolean => name.startsWith('@kapstan/') || name === 'create-kapstan';

async function filesOf(target: string): Promise<readonly string[]> {
  const entries = await readdir(target, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(target.length + 1));
}

async function manifestOf(path: string): Promise<PackageFile> {
  return JSON.parse(await readFile(join(path, 'package.json'), 'utf8')) as PackageFile;
}

function needsOf({ dependencies, peerDependencies, peerDependenciesMeta }: PackageFile): readonly string[] {
  const peers = Object.keys(peerDependencies ?? {}).filter((peer) => peerDependenciesMeta?.[peer]?.optional !== true);
  return [...Object.keys(dependencies ?? {}), ...peers];
}

async function link(dependency: string): Promise<void> {
  const target = join(folder, 'node_modules', dependency);
  if (existsSync(target)) return;
  await mkdir(dirname(target), { recursive: true });
  await symlink(join(root, 'node_modules', dependency), target);
}

/** Returns every entry point by its name. One with a `*` stands for many of the same kind. */
function entryPoints(): readonly string[] {
  return manifests.flatMap(({ name, exports }) =>
    Object.keys(exports)
      .filter((path) => !path.endsWith('.json') && !path.includes('facts') && isBuilt(exports[path]))
      .map((path) => name + path.slice(1).replace('*', 'core/v1')),
  );
}

/** Returns false for fixtures that our packages share, because those exist only as sources. */
function isBuilt(target: unknown): boolean {
  return typeof target !== 'object' || target === null || 'default' in target;
}

// A fault in lmdb's own declarations, which is reported whenever they are checked. The README therefore asks for
// skipLibCheck with the server's packages.
const faultOfLmdb = /^\S*node_modules\/lmdb\/index\.d\.ts\(\d+,1\): error TS1203: .*\n/m;

function typeCheck(files: readonly string[], settings: readonly string[]): string {
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  const common = ['--noEmit', '--strict', '--skipLibCheck', 'false', '--module', 'nodenext', '--types', 'node'];
  const args = [tsc, ...common, '--rewriteRelativeImportExtensions', ...settings, ...files];
  const { stdout } = spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8' });
  return stdout.replace(faultOfLmdb, '');
}

const typed = `
import { SharedInformerFactory } from '@kapstan/informers';
import { Pod } from '@kapstan/kinds/core/v1';

declare const factory: SharedInformerFactory;
// @ts-expect-error: not any
export const name: string = factory.informer(Pod).lister.list();
`;

it.each([
  ['ES2022', ['--target', 'es2022', '--lib', 'es2022']],
  ['the newest, with exact optional properties', ['--target', 'esnext', '--exactOptionalPropertyTypes']],
] as const)(
  'type-check, with the controller of the README, where a program is written for %s',
  { timeout: 180_000 },
  async (_, settings) => {
    const imports = entryPoints().map((entry) => `export type * as _${entry.replace(/\W/g, '_')} from '${entry}';\n`);
    expect(imports.length).toBeGreaterThan(12);
    await writeFile(join(folder, 'program.ts'), imports.join('') + typed);
    await writeFile(join(folder, 'required.cts'), typed);
    expect(typeCheck(['program.ts', 'required.cts', 'main.ts'], settings)).toBe('');
  },
);

it('are packed by the command of the README: each package, no example', async () => {
  expect(await readFile(join(root, 'README.md'), 'utf8')).toContain('npm pack -w packages');
  expect([...packed.keys()].sort()).toEqual((await readdir(join(root, 'packages'))).sort());
});

it('hold what is needed and nothing else', async () => {
  const mayHold = /^(package\.json|README\.md|LICENSE|(dist|src|facts|proto|bin|template|dashboards)\/.*)$/;
  for (const [name, files] of packed) {
    expect(files, name).toEqual(expect.arrayContaining(['package.json', 'README.md', 'LICENSE', 'dist/index.js']));
    const isTest = (file: string): boolean => !file.startsWith('template/') && file.includes('.test.');
    expect(files.filter((file) => !mayHold.test(file) || isTest(file) || file.endsWith('.tsbuildinfo'))).toEqual([]);
  }
});

it('hold the files that their code names by its own place, such as those of threads', async () => {
  const ownPlace = /new URL\(\s*'(\.[^']*\.\w+)',\s*import\.meta\.url/g;
  let count = 0;
  for (const [name, files] of packed) {
    for (const file of files.filter((path) => /^dist\/(?!bundled).*\.js$/.test(path))) {
      const code = await readFile(join(root, 'packages', name, file), 'utf8');
      for (const [, path = ''] of code.matchAll(ownPlace)) {
        const named = posix.join(posix.dirname(file), path);
        // npm test builds without the descriptions, and sources are named where code runs from sources.
        if (named.endsWith('descriptions.json') || named.endsWith('.ts')) continue;
        expect(files, `${name}/${file} names ${path}`).toContain(named);
        count++;
      }
    }
  }
  expect(count).toBeGreaterThan(5);
});

it('carry the descriptions that the build took from declarations', (ctx) => {
  if (!existsSync(join(root, 'packages/kinds/dist/descriptions.json')))
    ctx.skip('there are no descriptions: npm install, then npm run build');
  expect(packed.get('kinds')).toEqual(
    expect.arrayContaining(['dist/descriptions.json', 'dist/column-descriptions.json']),
  );
  expect(packed.get('apiserver')).toContain('dist/meta-descriptions.json');
});

it('have entry points that lead to files and declarations of the right format, as the release command checks', {
  timeout: 180_000,
}, async () => {
  for (const release of releases) expect(await entryPointFaults(release), release.name).toEqual([]);
});

/** Returns a program with these imports, as modules or required. */
function program(format: 'mjs' | 'cjs', imports: Readonly<Record<string, string>>, body: string): string {
  const get = ([from, names]: [string, string]): string =>
    format === 'mjs' ? `import { ${names} } from '${from}';\n` : `const { ${names} } = require('${from}');\n`;
  return `${Object.entries(imports).map(get).join('')}(async () => {\n${body}\n})();\n`;
}

const oneReconcile = `
  const stop = new AbortController();
  const tell = controller(ConfigMap).reconcile(async (map) => {
    console.log(map.metadata.name);
    stop.abort();
  });
  await run(tell, { signal: stop.signal, kubeconfig: 'kubeconfig' });`;

it('are installed by npm, the six of a controller, and run against a server, as modules and required', {
  timeout: 180_000,
}, async () => {
  const project = join(folder, 'project');
  await mkdir(project);
  const six = ['api', 'client', 'controller', 'informers', 'inspector', 'kinds'];
  const archives = six.map((name) => `${join(folder, 'packed', `kapstan-${name}`)}-${version(name)}.tgz`);
  // There is no registry here, so foreign packages come from the repository's node_modules.
  const foreign = await closureOf(six.map((name) => `@kapstan/${name}`));
  await writeFile(join(project, 'package.json'), JSON.stringify({ overrides: await nestedVersions(foreign) }));
  const quiet = ['--loglevel=error', '--no-audit', '--no-fund', '--ignore-scripts'];
  const flags = ['--offline', '--install-links', '--cache', join(folder, 'cache'), ...quiet];
  const npm = spawnSync('npm', ['install', ...flags, ...archives, ...foreign], { cwd: project, encoding: 'utf8' });
  expect(npm.status, npm.stderr).toBe(0);
  expect((await readdir(join(project, 'node_modules/@kapstan'))).sort()).toEqual(six);

  await using cluster = await testCluster({ clock: 'real' });
  await cluster.client.create(ConfigMap, { metadata: { namespace: 'default', name: 'it' } });
  await writeFile(join(project, 'kubeconfig'), cluster.kubeconfig);
  const imports = { '@kapstan/controller': 'controller, run', '@kapstan/kinds/core/v1': 'ConfigMap' };
  for (const format of ['mjs', 'cjs'] as const) {
    await writeFile(join(project, `main.${format}`), program(format, imports, oneReconcile));
    expect(await output(`main.${format}`, project)).toBe('it\n');
  }
});

const oneCluster = `
  const cluster = await testCluster();
  const client = await cluster.connect();
  await client.create(ConfigMap, { metadata: { namespace: 'default', name: 'it' } });
  console.log((await cluster.client.get(ConfigMap, { namespace: 'default', name: 'it' })).metadata.name);
  const refusal = await cluster.client.get(ConfigMap, { namespace: 'default', name: 'none' }).catch((error) => error);
  const changes = cluster.client.listerWatcher(ConfigMap).watch({ resourceVersion: '0' });
  console.log(refusal instanceof StatusError, changes instanceof Observable, client instanceof Client);
  await cluster.close();`;

it.each(['mjs', 'cjs'] as const)(
  'run a control plane inside a program, all twelve, from the bundle alone, with the same classes as the program (%s)',
  async (format) => {
    const imports = {
      '@kapstan/testing': 'testCluster',
      '@kapstan/kinds/core/v1': 'ConfigMap',
      '@kapstan/api': 'StatusError',
      '@kapstan/client': 'Client',
      rxjs: 'Observable',
    };
    const module = join(folder, 'node_modules/@kapstan/testing/dist/test-cluster.js');
    await rename(module, join(folder, 'test-cluster.js'));
    await writeFile(join(folder, `cluster.${format}`), program(format, imports, oneCluster));
    expect(await output(`cluster.${format}`, folder)).toBe('it\ntrue true true\n');
    await rename(join(folder, 'test-cluster.js'), module);
  },
);

it('are a command, which runs from its bundle alone and finds what other packages keep in files', async () => {
  const controlPlane = join(folder, 'node_modules/@kapstan/control-plane');
  expect(packed.get('control-plane')).toEqual(
    expect.arrayContaining(['dist/bundled/index.cjs', 'dist/bundled/LICENSES.txt']),
  );
  await rename(join(controlPlane, 'dist/serve.js'), join(folder, 'serve.js'));
  const work = join(folder, 'served');
  const flags = ['--secure-port=0', `--data-dir=${work}/data`, `--ready-file=${work}/ready.json`];
  await mkdir(work);
  const child = spawn(process.execPath, [join(controlPlane, 'bin/kapstan.js'), 'serve', ...flags], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const exited = once(child, 'exit');
  for await (const line of createInterface(child.stderr)) if (line.includes('"serving"')) child.kill('SIGTERM');
  expect(await exited).toEqual([0, null]);
  await rename(join(folder, 'serve.js'), join(controlPlane, 'dist/serve.js'));
});

it.each([
  ['npx alone', (pid: number) => process.kill(pid, 'SIGTERM')],
  ['the whole group of npx', (pid: number) => process.kill(-pid, 'SIGTERM')],
])('hold a command that ends gracefully when %s gets a SIGTERM', async (_, signal) => {
  const work = await mkdtemp(join(folder, 'npx-'));
  const ready = join(work, 'ready.json');
  const flags = ['--secure-port=0', `--data-dir=${work}/data`, `--ready-file=${ready}`, '--shutdown-delay-duration=2s'];
  const npx = spawn('npx', ['--no', 'kapstan', 'serve', ...flags], {
    ...{ cwd: root, detached: true, stdio: ['ignore', 'ignore', 'pipe'] },
  });
  const lines: string[] = [];
  for await (const line of createInterface(npx.stderr as Readable)) {
    if (line.includes('"serving"')) signal(npx.pid ?? 0);
    lines.push(line);
  }
  // The server holds standard error open until it ends, and removes the file when it has closed everything.
  expect(lines.at(-1)).toContain('shutting down');
  expect(existsSync(ready)).toBe(false);
});

const version = (name: string): string =>
  manifests.find((manifest) => manifest.name === `@kapstan/${name}`)?.version ?? 'unknown';

/** Returns everything that a program prints, errors and warnings included. */
async function output(file: string, cwd: string): Promise<string> {
  const child = spawn(process.execPath, [file], { cwd, stdio: ['ignore', 'pipe', 'pipe'] });
  let text = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      text += chunk;
    });
  await once(child, 'close');
  return text;
}

/** Returns the folders of all foreign packages that these need. */
async function closureOf(names: readonly string[], found: Set<string> = new Set()): Promise<readonly string[]> {
  for (const name of names) {
    const path = join(root, 'node_modules', name);
    if (found.has(path) || !existsSync(path)) continue;
    found.add(path);
    await closureOf(needsOf(await manifestOf(path)), found);
  }
  return [...found].filter((path) => !path.includes('@kapstan'));
}

/** Returns the packages that others depend on in a separate version, as npm's `overrides`. */
async function nestedVersions(paths: readonly string[]): Promise<Record<string, Record<string, string>>> {
  const overrides: Record<string, Record<string, string>> = {};
  for (const path of paths) {
    const { name } = await manifestOf(path);
    for (const need of needsOf(await manifestOf(path))) {
      const own = join(path, 'node_modules', need);
      if (existsSync(own)) overrides[name] = { ...overrides[name], [need]: `file:${own}` };
    }
  }
  return overrides;
}
