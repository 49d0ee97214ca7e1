// Makes bundles of the command (packages/control-plane/dist/bundled) and of @kapstan/testing
// (packages/testing/dist/bundled): a few large scripts with the code that V8 compiled from them. Node loads them in a
// third of the time of the server's 700 modules (docs/decisions/0021-bundles-with-compiled-code.md). Part of the build,
// after tsc.
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';
import { isJoinStale } from './built-package.mjs';
import { root } from './set-up.mjs';

const packages = join(root, 'packages') + sep;
const modules = join(root, 'node_modules') + sep;

/** Packages with native parts, and packages that few servers load. Node finds them where they are installed. */
const leftOut = ['lmdb', 'undici', '@grpc/grpc-js', '@grpc/proto-loader', '@kapstan/generate', 'create-kapstan'];
/** Optional dependencies of ws, without which it works too. */
const absent = ['bufferutil', 'utf-8-validate'];

const bundles = [
  { name: 'control-plane', entry: 'command.js', shared: [] },
  // Modules that a program also loads itself: it checks the class of errors, and streams must come from its own rxjs.
  {
    name: 'testing',
    entry: 'index.js',
    shared: ['@kapstan/api', '@kapstan/client', 'rxjs'],
    importedLater: ['@kapstan/client'],
  },
];
async function make({ name, entry, shared, importedLater = [] }) {
  const folder = join(packages, name);
  const dir = join(folder, 'dist', 'bundled');
  rmSync(dir, { recursive: true, force: true });
  const stays = [...leftOut, ...absent, ...shared];
  const bundle = await rolldown({
    input: { index: join(folder, 'dist', entry) },
    platform: 'node',
    // Under this condition rxjs exports its separate modules, which can be bundled in part.
    resolve: { conditionNames: ['es2015', 'import', 'node', 'default'] },
    external: (id) => id.startsWith('node:') || stays.some((one) => id === one || id.startsWith(`${one}/`)),
    plugins: [installedPackages, addressesOfModules, partsOfRxjs(shared), importsOfLoader],
  });
  const { output } = await bundle.write({
    dir,
    format: 'cjs',
    entryFileNames: '[name].cjs',
    chunkFileNames: '[name].cjs',
    // Nobody reads comments there, and a server would keep them in memory.
    comments: { legal: true, annotation: false, jsdoc: false },
  });
  await bundle.close();
  for (const { fileName, code } of output) writeFileSync(join(dir, fileName), asFunction(code));
  requireDependencies(folder, output);
  for (const one of importedLater) keepForLater(one, output);
  writeFileSync(join(dir, 'LICENSES.txt'), licenses(output));
}

/** LMDB is loaded by the bundle's loader, from where it is installed but with the code that V8 compiled at the build. */
const installedPackages = {
  name: 'installed-packages',
  transform(code, id) {
    if (!id.endsWith(join('storage-lmdb', 'dist', 'lmdb-binding.js'))) return null;
    const plain = "createRequire(import.meta.url)('lmdb')";
    if (!code.includes(plain)) throw new Error(`${id} loads lmdb in another way`);
    return { code: code.replace(plain, "require.installed('lmdb', '@kapstan/storage-lmdb')"), map: null };
  },
};

/** A module that reads a file of its package must still find it, although the bundle has another address. */
const addressesOfModules = {
  name: 'addresses-of-modules',
  transform(code, id) {
    if (!id.startsWith(packages) || !code.includes('import.meta.url')) return null;
    const [name, ...path] = relative(packages, id).split(sep);
    const address = `require.addressOf('@kapstan/${name}', '${path.join('/')}')`;
    return { code: code.replaceAll('import.meta.url', address), map: null };
  },
};

/**
 * Uses the program's own rxjs, but only the needed parts, because `rxjs` as a whole is 200 files. Both names lead to
 * the same modules.
 */
function partsOfRxjs(shared) {
  if (!shared.includes('rxjs')) return null;
  const index = readFileSync(join(modules, 'rxjs/dist/esm/index.js'), 'utf8');
  const exported = [...index.matchAll(/^export \{ (.*) \} from '\.\/(.*)';$/gm)];
  const fileOf = new Map(exported.flatMap(([, names, file]) => names.split(', ').map((name) => [name, file])));
  const partOf = (name) => {
    if (!fileOf.has(name)) throw new Error(`rxjs has no part of its own for ${name}`);
    return `import { ${name} } from 'rxjs/${fileOf.get(name)}';`;
  };
  return {
    name: 'parts-of-rxjs',
    transform(code, id) {
      if (!id.startsWith(packages)) return null;
      const split = (_, names) =>
        names
          .split(',')
          .map((name) => name.trim())
          .filter(Boolean)
          .map(partOf)
          .join('');
      return { code: code.replace(/import \{([^}]*)\} from ["']rxjs["'];/g, split), map: null };
    },
  };
}

/** The bundle's loader imports modules outside the bundle only when they are needed. */
const importsOfLoader = {
  name: 'imports-of-loader',
  renderChunk: (code) => ({ code: code.replace(/\bimport\((?=["'][@\w])/g, 'require.importLater('), map: null }),
};

/** Wraps the code in a function for the loader to call; adding the wrapper later would copy the text. */
const asFunction = (code) => asciiAlone(`(function (exports, require, module) {${code}\n})`);

/**
 * Escapes other letters, because a single one makes V8 keep the whole script with two bytes per letter. An escape means
 * the same in texts, patterns and comments.
 */
const asciiAlone = (code) =>
  code.replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);

const stale = readdirSync(packages).filter((name) => isJoinStale(join(packages, name)));
if (stale.length > 0)
  throw new Error(`${stale.join(', ')}: compiled after the modules were joined; run "npm run join"`);
for (const bundle of bundles) await make(bundle);
const compiler = fileURLToPath(new URL('compile-bundle.mjs', import.meta.url));
// The servers' logs do not matter to a build. An error that ends them has the log in its message.
for (const { name } of bundles) execFileSync(process.execPath, [compiler, name], { stdio: 'pipe' });

/**
 * Throws unless the package declares everything that its bundle requires, because the bundle is resolved from where it
 * is installed.
 */
function requireDependencies(folder, chunks) {
  const { dependencies, peerDependencies } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const own = new Set(chunks.map(({ fileName }) => fileName));
  const imported = chunks.flatMap(({ imports, dynamicImports }) => [...imports, ...dynamicImports]);
  const names = imported.filter((id) => !own.has(id) && !id.startsWith('node:')).map(packageName);
  const isMissing = (name) => !(name in dependencies) && !(name in peerDependencies) && !absent.includes(name);
  const missing = [...new Set(names)].filter(isMissing);
  if (missing.length > 0)
    throw new Error(`${relative(root, folder)}/package.json lacks dependencies of its bundle: ${missing}`);
}

/**
 * Throws if the bundle loads a module at its start, because jest cannot require an ES module, and in-process tests would load it for
 * nothing.
 */
function keepForLater(name, chunks) {
  const needing = chunks.filter(({ imports }) => imports.includes(name)).map(({ fileName }) => fileName);
  if (needing.length > 0) throw new Error(`${needing} imports ${name} at the start; use await import('${name}')`);
}

function licenses(chunks) {
  const folders = chunks
    .flatMap(({ moduleIds }) => moduleIds)
    .filter((file) => file.startsWith(modules))
    .map((file) => folderOfPackage(file));
  const texts = [...new Set(folders)].sort().map((folder) => `${relative(modules, folder)}\n\n${licenseOf(folder)}`);
  return texts.join(`\n${'-'.repeat(80)}\n`);
}

/** Returns the folder of a package, even of one inside another's node_modules. */
function folderOfPackage(file) {
  const start = file.lastIndexOf(`node_modules${sep}`) + 'node_modules/'.length;
  return join(file.slice(0, start), packageName(file.slice(start).replaceAll(sep, '/')));
}

function licenseOf(folder) {
  const name = readdirSync(folder).find((file) => /^licen[cs]e/i.test(file));
  if (name === undefined)
    throw new Error(`${relative(modules, folder)} has no licence, so it cannot be taken into the bundle`);
  return readFileSync(join(folder, name), 'utf8');
}

function packageName(id) {
  return id
    .split('/')
    .slice(0, id.startsWith('@') ? 2 : 1)
    .join('/');
}
