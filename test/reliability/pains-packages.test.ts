// One test for each problem with the packages themselves: how they load, with which dependencies, and at what cost. The
// SDK is copied with only its dependencies, like an installation. docs/parity/pains.md has the list.
import { execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

interface PackageFile {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>;
}

const modules = fileURLToPath(new URL('../../node_modules', import.meta.url));
const sdk = ['@kapstan/client', '@kapstan/informers', '@kapstan/controller'];
let folder: string;
const manifests = new Map<string, PackageFile>();

/** Installs a package and its dependencies. */
function install(name: string): void {
  if (manifests.has(name)) return;
  const from = join(modules, name);
  const manifest = JSON.parse(readFileSync(join(from, 'package.json'), 'utf8')) as PackageFile;
  manifests.set(name, manifest);
  const isOurs = name.startsWith('@kapstan/');
  const isInstalled = (path: string): boolean =>
    !path.slice(from.length).includes('/node_modules') &&
    !(isOurs && /\/src\/(testing|.*\.test\.ts)|\.tsbuildinfo$/.test(path));
  cpSync(from, join(folder, 'node_modules', name), { recursive: true, dereference: true, filter: isInstalled });
  const { dependencies, peerDependencies = {}, peerDependenciesMeta = {} } = manifest;
  const peers = Object.keys(peerDependencies).filter((peer) => peerDependenciesMeta[peer]?.optional !== true);
  for (const needed of [...Object.keys(dependencies ?? {}), ...peers]) install(needed);
}

function run(program: string, type: 'module' | 'commonjs' = 'module'): string {
  const args = ['--expose-gc', `--input-type=${type}`, '--eval', program];
  return execFileSync(process.execPath, args, { cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
}

function mebibytes(path: string): number {
  if (!statSync(path).isDirectory()) return statSync(path).size / 1_048_576;
  return readdirSync(path).reduce((sum, name) => sum + mebibytes(join(path, name)), 0);
}

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'kapstan-sdk-'));
  mkdirSync(join(folder, 'node_modules'));
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  for (const name of sdk) install(name);
});
afterAll(() => rmSync(folder, { recursive: true }));

describe('what hurts in packages:', () => {
  it.each(sdk)('%s cannot be required: only modules can have it', (name) => {
    const exported = `Object.keys(loaded).sort().join(' ')`;
    const required = run(`const loaded = require('${name}'); console.log(${exported})`, 'commonjs');
    expect(required).toBe(run(`import * as loaded from '${name}'; console.log(${exported})`));
    expect(required).toMatch(/\w/);
  });

  it('what is called optional is loaded all the same', () => {
    const ours = [...manifests].filter(([name]) => name.startsWith('@kapstan/'));
    expect(ours.map(([name]) => name).sort()).toEqual(
      [...sdk, '@kapstan/api', '@kapstan/inspector', '@kapstan/kinds'].sort(),
    );
    expect(ours.filter(([, { optionalDependencies }]) => optionalDependencies !== undefined)).toEqual([]);
    // This installation lacks the optional peers, which only the entry points for tests need.
    const entries = [...sdk, '@kapstan/api', '@kapstan/api/testing', '@kapstan/inspector', '@kapstan/kinds/apps/v1'];
    for (const entry of entries) expect(run(`await import('${entry}'); console.log('loaded')`)).toBe('loaded\n');
    expect(existsSync(join(folder, 'node_modules/vitest'))).toBe(false);
  });

  it('a bundle of it does not run', { timeout: 60_000 }, async () => {
    writeFileSync(
      join(folder, 'main.js'),
      `import { connect, parseKubeconfig } from '@kapstan/client';
       import { controller, run } from '@kapstan/controller';
       import { ConfigMap } from '@kapstan/kinds/core/v1';
       import { SharedInformer } from '@kapstan/informers';
       const parsed = typeof parseKubeconfig('{apiVersion: v1, kind: Config}');
       const echo = controller(ConfigMap).reconcile(async () => undefined);
       const kinds = [connect, SharedInformer].map((each) => typeof each).join();
       const tell = (error) => console.log(kinds, parsed, echo.name, error.message.includes('/nowhere'));
       // run() is awaited at the top level. It would hang if a chunk that run() loads waited for this one, which
       // Rolldown causes when a package re-exports another's names.
       await run(echo, { kubeconfig: '/nowhere' }).catch(tell);`,
    );
    await build({
      configFile: false,
      root: folder,
      logLevel: 'error',
      ssr: { noExternal: true },
      build: { ssr: 'main.js', outDir: 'bundle', minify: false, target: 'node20' },
    });
    // The bundle runs away from every node_modules.
    const bundle = mkdtempSync(join(tmpdir(), 'kapstan-bundle-'));
    try {
      cpSync(join(folder, 'bundle'), bundle, { recursive: true });
      writeFileSync(join(bundle, 'package.json'), '{ "type": "module" }');
      const [file = ''] = readdirSync(bundle).filter((name) => /^main\.m?js$/.test(name));
      const said = execFileSync(process.execPath, [join(bundle, file)], { cwd: bundle, encoding: 'utf8' });
      expect(said).toBe('function,function object configmap true\n');
    } finally {
      rmSync(bundle, { recursive: true });
    }
  });

  it('tens of megabytes are resident after the import, and installed', () => {
    const [rss = 0, heap = 0] = run(`
      const before = process.memoryUsage();
      for (const name of ${JSON.stringify(sdk)}) await import(name);
      gc();
      const after = process.memoryUsage();
      console.log([after.rss - before.rss, after.heapUsed - before.heapUsed].map((bytes) => bytes / 1048576).join())`)
      .split(',')
      .map(Number);
    const installed = mebibytes(join(folder, 'node_modules'));
    console.log(`MiB: ${rss.toFixed(1)} resident, ${heap.toFixed(1)} heap, ${installed.toFixed(1)} installed`);
    // client-node: 65 to 82 resident, 24 heap, 73 to 84 installed.
    expect(heap).toBeLessThan(14);
    expect(rss).toBeLessThan(60);
    expect(installed).toBeLessThan(20);
  });
});
