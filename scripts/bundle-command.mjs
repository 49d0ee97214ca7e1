// Makes packages/control-plane/dist/bundled of its dist/command.js: a few large files, which Node loads in half the time of the
// 700 modules that `kapstan serve` consists of (docs/decisions/0015-the-command-is-bundled.md). Part of the build, after tsc.
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { rolldown } from 'rolldown';
import { root } from './set-up.mjs';

const packages = join(root, 'packages') + sep;
const modules = join(root, 'node_modules') + sep;
const controlPlane = join(packages, 'control-plane');
const outDir = join(controlPlane, 'dist', 'bundled');

/** npm packages stay dependencies, but for two that are hundreds of small files in Node: rxjs, and @peculiar/x509 with its parts. */
const takenIn = ['@kapstan', 'rxjs', '@peculiar', 'asn1js', 'pvtsutils', 'pvutils', 'tsyringe', 'tslib'];
const isTakenIn = (id) => id.startsWith('.') || id.startsWith(root) || takenIn.includes(id.split('/')[0]);

/** A module that reads a file of its package goes on to find it there: the address of a bundle would be another. */
const addressesOfModules = {
  name: 'addresses-of-modules',
  transform(code, id) {
    if (!id.startsWith(packages) || !code.includes('import.meta.url')) return null;
    const [name, ...path] = relative(packages, id).split(sep);
    const address = `new URL('${path.join('/')}', import.meta.resolve('@kapstan/${name}/package.json')).href`;
    return { code: code.replaceAll('import.meta.url', address), map: null };
  },
};

rmSync(outDir, { recursive: true, force: true });
const bundle = await rolldown({
  input: join(controlPlane, 'dist', 'command.js'),
  platform: 'node',
  // Under this name rxjs has its modules, which can be taken in part.
  resolve: { conditionNames: ['es2015', 'import', 'node', 'default'] },
  external: (id) => !isTakenIn(id),
  plugins: [addressesOfModules],
});
const { output } = await bundle.write({ dir: outDir, format: 'es', chunkFileNames: '[name].js' });
await bundle.close();
requireDependencies(output);
writeFileSync(join(outDir, 'LICENSES.txt'), licenses(output));

/** What the bundle imports has to be found from where it is installed, and not only from the package that used it. */
function requireDependencies(chunks) {
  const { dependencies } = JSON.parse(readFileSync(join(controlPlane, 'package.json'), 'utf8'));
  const own = new Set(chunks.map(({ fileName }) => fileName));
  const imported = chunks.flatMap(({ imports, dynamicImports }) => [...imports, ...dynamicImports]);
  const names = imported.filter((id) => !own.has(id) && !id.startsWith('node:')).map(packageName);
  const missing = [...new Set(names)].filter((name) => !(name in dependencies));
  if (missing.length > 0)
    throw new Error(`packages/control-plane/package.json lacks what its bundle imports: ${missing}`);
}

function licenses(chunks) {
  const folders = chunks
    .flatMap(({ moduleIds }) => moduleIds)
    .filter((file) => file.startsWith(modules))
    .map((file) => folderOfPackage(file));
  const texts = [...new Set(folders)].sort().map((folder) => `${relative(modules, folder)}\n\n${licenseOf(folder)}`);
  return texts.join(`\n${'-'.repeat(80)}\n`);
}

/** Also of one that lies in another's node_modules. */
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
