// The packages as someone gets them who installs what `npm pack` makes: every entry point type-checks under strict settings,
// declarations included, with @types/node and nothing else that our packages do not bring.
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';

interface PackageFile {
  readonly name: string;
  readonly exports: Readonly<Record<string, unknown>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

const root = fileURLToPath(new URL('../..', import.meta.url));
let folder: string;
const manifests: PackageFile[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kapstan-installed-'));
  await mkdir(join(folder, 'packed'));
  const names = await readdir(join(root, 'packages'));
  const workspaces = names.flatMap((name) => ['--workspace', `packages/${name}`]);
  execFileSync('npm', ['pack', '--silent', '--pack-destination', join(folder, 'packed'), ...workspaces], {
    cwd: root,
    stdio: 'ignore',
  });
  for (const name of names) await install(name);
  await link('@types/node');
  for (const file of ['shout.ts', 'main.ts'])
    await copyFile(join(root, 'examples/first-controller/src', file), join(folder, file));
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }');
});
afterAll(() => rm(folder, { recursive: true }));

async function install(name: string): Promise<void> {
  const target = join(folder, 'node_modules/@kapstan', name);
  await mkdir(target, { recursive: true });
  const archive = (await readdir(join(folder, 'packed'))).find((file) => file.startsWith(`kapstan-${name}-0`));
  execFileSync('tar', ['-xzf', join(folder, 'packed', archive ?? name), '--strip-components=1', '-C', target]);
  const manifest = JSON.parse(await readFile(join(target, 'package.json'), 'utf8')) as PackageFile;
  manifests.push(manifest);
  const needed = Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies });
  for (const dependency of needed) if (!dependency.startsWith('@kapstan/')) await link(dependency);
}

async function link(dependency: string): Promise<void> {
  const target = join(folder, 'node_modules', dependency);
  if (existsSync(target)) return;
  await mkdir(dirname(target), { recursive: true });
  await symlink(join(root, 'node_modules', dependency), target);
}

/** Every entry point by its name; those with a `*` stand for many of the same make. */
function entryPoints(): readonly string[] {
  return manifests.flatMap(({ name, exports }) =>
    Object.keys(exports)
      .filter((path) => !path.endsWith('.json') && !path.includes('facts'))
      .map((path) => name + path.slice(1).replace('*', 'core/v1')),
  );
}

// Not ours, and there whenever its declarations are checked: the README asks for skipLibCheck with the server's packages.
const faultOfLmdb = /^\S*node_modules\/lmdb\/index\.d\.ts\(\d+,1\): error TS1203: .*\n/m;

function typeCheck(files: readonly string[], settings: readonly string[]): string {
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  const common = ['--noEmit', '--strict', '--skipLibCheck', 'false', '--module', 'nodenext', '--types', 'node'];
  const args = [tsc, ...common, '--rewriteRelativeImportExtensions', ...settings, ...files];
  const { stdout } = spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8' });
  return stdout.replace(faultOfLmdb, '');
}

const program = `
import { SharedInformerFactory } from '@kapstan/informers';
import { Pod } from '@kapstan/kinds/core/v1';

declare const factory: SharedInformerFactory;
// @ts-expect-error: not any
export const name: string = factory.informer(Pod).lister.list();
`;

it.each([
  ['ES2022', ['--target', 'es2022', '--lib', 'es2022']],
  ['the newest, with exact optional properties', ['--target', 'esnext', '--exactOptionalPropertyTypes']],
] as const)('type-check, with the controller of the README, where a program is written for %s', async (_, settings) => {
  const imports = entryPoints().map((entry) => `export type * as _${entry.replace(/\W/g, '_')} from '${entry}';\n`);
  expect(imports.length).toBeGreaterThan(12);
  await writeFile(join(folder, 'program.ts'), imports.join('') + program);
  expect(typeCheck(['program.ts', 'main.ts'], settings)).toBe('');
});
