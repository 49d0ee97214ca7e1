// Checks of packed packages: their entry points must lead to files (publint) and to declarations (attw), and a
// controller's dependencies must stay small. Used by release.mjs.
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';

/** Maximum size of a controller's installation, in bytes of files; rxjs alone has 4.5 MB. */
const maxTreeBytes = 20e6;
/** Target for the time of importing @kapstan/controller. The time is only printed, because machines differ. */
const wantedImportMs = 150;
const importRuns = 5;

/** Ways of resolving modules that the packages do not support: they are ES modules, which Node 20.19 and later also require. */
const unsupported = new Set(['node10', 'node16-cjs']);

/** Packs all packages into a folder. Returns the manifest and the archive of each. */
export function pack(root, folder) {
  const args = ['pack', '--json', '--silent', '-w', 'packages', '--pack-destination', folder];
  const packed = JSON.parse(execFileSync('npm', args, { cwd: root, encoding: 'utf8', maxBuffer: 1e8 }));
  return packed.map(({ name, version, filename, size, unpackedSize }) => {
    const path = join(root, 'packages', name.replace(/^@kapstan\//, ''));
    const manifest = JSON.parse(readFileSync(join(path, 'package.json'), 'utf8'));
    return { name, version, manifest, archive: join(folder, filename), size, unpackedSize };
  });
}

/** Returns the order in which packages can be published: each one after its dependencies. */
export function dependenciesFirst(packages) {
  const byName = new Map(packages.map((one) => [one.name, one]));
  const sorted = new Set();
  const visit = (one) => {
    const { dependencies = {}, peerDependencies = {} } = one.manifest;
    for (const name of Object.keys({ ...dependencies, ...peerDependencies }))
      if (byName.has(name) && !sorted.has(byName.get(name))) visit(byName.get(name));
    sorted.add(one);
  };
  packages.forEach(visit);
  return [...sorted];
}

/** Returns the faults of a package's entry points, one line each. */
export async function entryPointFaults({ name, manifest, archive }) {
  const bytes = readFileSync(archive);
  const tarball = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
  // pkgDir is omitted, because publint would look for that folder inside the archive.
  const { messages } = await publint({ pack: { tarball }, strict: true });
  const faults = messages.map((message) => `publint: ${formatMessage(message, manifest)}`);
  // Programs without exports have no types to check.
  if (manifest.exports === undefined) return faults;
  const excludeEntrypoints = sourcesAlone(manifest);
  const result = await checkPackage(createPackageFromTarballData(new Uint8Array(bytes)), {
    excludeEntrypoints,
  });
  if (result.types === false) return [...faults, `attw: ${name} has no declarations`];
  const problems = result.problems.filter(({ resolutionKind }) => !unsupported.has(resolutionKind));
  return [...faults, ...problems.map((problem) => `attw: ${describe(problem)}`)];
}

/** Returns the entry points that our packages share before they are built; no program can import them. */
function sourcesAlone({ exports }) {
  const isSource = (target) => typeof target === 'object' && target !== null && !('default' in target);
  return Object.keys(exports).filter((path) => isSource(exports[path]));
}

const describe = ({ kind, entrypoint = '', resolutionKind = '', fileName = '' }) =>
  [kind, entrypoint, resolutionKind, fileName].filter((part) => part !== '').join(' ');

/**
 * Installs a controller's dependencies into an empty project. Returns the bytes of its files and the time of an import.
 */
export function controllerTree(packages) {
  const folder = mkdtempSync(join(tmpdir(), 'kapstan-release-'));
  try {
    writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }');
    const needed = new Set(['@kapstan/controller']);
    for (const name of needed) {
      const { dependencies = {} } = packages.find((one) => one.name === name)?.manifest ?? {};
      for (const dependency of Object.keys(dependencies))
        if (dependency.startsWith('@kapstan/')) needed.add(dependency);
    }
    const archives = packages.filter(({ name }) => needed.has(name)).map(({ archive }) => archive);
    const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
    execFileSync('npm', ['install', ...flags, ...archives], { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] });
    return { bytes: bytesIn(join(folder, 'node_modules')), importMs: importMs(folder) };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Returns the lines about the dependency tree, and its faults. */
export function treeReport({ bytes, importMs: ms }) {
  const size = `a controller installs ${(bytes / 1e6).toFixed(1)} MB (limit ${maxTreeBytes / 1e6} MB)`;
  const time = `importing @kapstan/controller takes ${ms.toFixed(0)} ms here (wanted ${wantedImportMs} ms)`;
  return { lines: [size, time], faults: bytes > maxTreeBytes ? [size] : [] };
}

function bytesIn(folder) {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return entries.reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0);
}

/** Returns the median of several runs, each in its own process. */
function importMs(folder) {
  const program =
    "const t = performance.now(); await import('@kapstan/controller'); console.log(performance.now() - t)";
  const times = Array.from({ length: importRuns }, () => {
    const args = ['--input-type=module', '--eval', program];
    const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8' });
    if (status !== 0) throw new Error(`@kapstan/controller cannot be imported: ${stderr}`);
    return Number(stdout);
  });
  return times.sort((a, b) => a - b)[(importRuns - 1) / 2];
}
