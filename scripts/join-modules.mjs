// Joins the modules of a package into a few: dist/index.js and its like, one for each entry point, and what these share. Node loads
// @kapstan/controller in half of the time then (docs/decisions/0046-joined-modules.md). tsc writes only the declarations of such a
// package. Its build runs this after tsc; `npm run join` joins all of them.
import { copyFileSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import { RolldownMagicString, rolldown } from 'rolldown';
import { parseAst } from 'rolldown/parseAst';
import { joinsModules, noteOfJoin, noteOfTsc } from './built-package.mjs';
import { root } from './set-up.mjs';

async function joinAll() {
  const folders = readdirSync(join(root, 'packages')).map((name) => join(root, 'packages', name));
  for (const folder of folders.filter(joinsModules)) await joinModules(folder);
}

async function joinModules(folder) {
  const dist = join(folder, 'dist');
  const bundle = await rolldown({
    input: entries(folder),
    platform: 'node',
    // Other packages stay outside, because each class must exist once.
    external: (id) => /^[@\w]/.test(id) && !id.startsWith('@oxc-project/'),
    transform: { target: 'es2023' },
    tsconfig: false,
    plugins: [valuesThatCanBeLeftOut],
    // A busy machine would otherwise fail the build by a warning about slow plug-ins.
    checks: { bundlerTimings: false },
    onLog: (level, log) => {
      if (level === 'info' || level === 'debug') return;
      throw new Error(`${relative(root, folder)}: ${level}: ${log.message}`);
    },
  });
  const { output } = await bundle.write({
    dir: dist,
    format: 'esm',
    sourcemap: true,
    sourcemapExcludeSources: true,
    // The declarations have the doc comments.
    comments: { jsdoc: false, legal: true, annotation: true },
    entryFileNames: '[name].js',
    chunkFileNames: '[name].js',
    minifyInternalExports: false,
    codeSplitting: {
      groups: [
        { name: doorName, debugName: 'doors', priority: 1 },
        { name: 'shared', tags: ['$initial'], minShareCount: 2 },
      ],
    },
  });
  await bundle.close();
  requireDoors(folder, output);
  removeOthers(dist, new Set(output.map(({ fileName }) => fileName)));
  copyFileSync(join(folder, noteOfTsc), join(folder, noteOfJoin));
}

/** Returns the sources of the entry points, by the names of their files in dist without the ending. */
function entries(folder) {
  const { exports } = readJson(join(folder, 'package.json'));
  const targets = Object.values(exports).filter((target) => target?.default !== undefined);
  const nameOf = ({ default: file }) => file.replace(/^\.\/dist\/(.*)\.js$/, '$1');
  return Object.fromEntries(targets.map((target) => [nameOf(target), join(folder, target['@kapstan/source'])]));
}

/**
 * Makes a value that is computed when its module is loaded a call that bundlers leave out where nobody uses it. From a package without side
 * effects they leave out whole modules, but in a joined one they see an expression that might do anything.
 */
const valuesThatCanBeLeftOut = {
  name: 'values-that-can-be-left-out',
  transform(code, id) {
    if (!id.endsWith('.ts')) return null;
    const result = new RolldownMagicString(code);
    const surround = ({ start, end }, before, after) => result.appendRight(start, before).appendLeft(end, after);
    for (const statement of parseAst(code, { lang: 'ts' }).body) {
      const declaration = statement.type === 'ExportNamedDeclaration' ? statement.declaration : statement;
      if (declaration?.type === 'VariableDeclaration')
        for (const { init } of declaration.declarations)
          if (!isPlain(init)) surround(init, '/* @__PURE__ */ (() => (', '))()');
      if (declaration?.type === 'ClassDeclaration' && !declaration.declare && !isPlainClass(declaration)) {
        const { name } = declaration.id;
        surround(declaration, `const ${name} = /* @__PURE__ */ (() => { `, ` return ${name}; })();`);
      }
    }
    return { code: result };
  },
};

/** Returns false for a class of which a part is computed, such as [Symbol.iterator]. */
function isPlainClass({ superClass, body }) {
  const isComputed = ({ type, computed, static: isStatic, value }) =>
    computed || type === 'StaticBlock' || (isStatic && type === 'PropertyDefinition' && !isPlain(value));
  return superClass === null && !body.body.some(isComputed);
}

/** The parts of expressions that compute nothing. */
const plainParts = {
  ArrayExpression: ({ elements }) => elements,
  ArrowFunctionExpression: () => [],
  ClassExpression: () => [],
  FunctionExpression: () => [],
  Identifier: () => [],
  Literal: () => [],
  ObjectExpression: ({ properties }) => properties,
  Property: ({ computed, key, value }) => (computed ? [key, value] : [value]),
  TemplateLiteral: ({ expressions }) => expressions,
  TSAsExpression: ({ expression }) => [expression],
  TSSatisfiesExpression: ({ expression }) => [expression],
  UnaryExpression: ({ argument }) => [argument],
};

const isPlain = (node) => node === null || (plainParts[node.type]?.(node).every(isPlain) ?? false);

/**
 * Gives a module that only imports a foreign package its own file. Bundlers leave it out, and the package with it, where a program uses
 * neither.
 */
function doorName(id, context) {
  const imported = context.getModuleInfo(id)?.importedIds ?? [];
  return imported.length > 0 && imported.every(isForeign) ? basename(id, '.ts') : null;
}

/** Throws when a file that is loaded with the package imports a foreign package and is no door. */
function requireDoors(folder, output) {
  const chunks = new Map(output.filter(({ type }) => type === 'chunk').map((chunk) => [chunk.fileName, chunk]));
  const loaded = new Set([...chunks.values()].filter(({ isEntry }) => isEntry));
  for (const { imports } of loaded) for (const name of imports) if (chunks.has(name)) loaded.add(chunks.get(name));
  for (const { imports, moduleIds } of loaded)
    for (const name of moduleIds.length > 1 ? imports.filter((one) => !chunks.has(one) && isForeign(one)) : [])
      throw new Error(`${relative(root, folder)} must import ${name} in a module that does nothing else`);
}

/** Returns true for a package that bundlers cannot leave out, because it does not say that it has no side effects. */
function isForeign(id) {
  if (!/^[@\w]/.test(id) || /^(node:|@kapstan\/|@oxc-project\/)/.test(id)) return false;
  const name = id.split('/', id.startsWith('@') ? 2 : 1).join('/');
  return readJson(join(root, 'node_modules', name, 'package.json')).sideEffects !== false;
}

/** Removes the code of an earlier build. */
function removeOthers(dist, written) {
  for (const file of readdirSync(dist, { recursive: true, encoding: 'utf8' }))
    if (/\.js(\.map)?$/.test(file) && !written.has(file.replaceAll('\\', '/'))) rmSync(join(dist, file));
}

const readJson = (file) => JSON.parse(readFileSync(file, 'utf8'));

const cwd = process.cwd();
if (joinsModules(cwd)) await joinModules(cwd);
else await joinAll();
