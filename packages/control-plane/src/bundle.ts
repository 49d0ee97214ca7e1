// A bundle is a package in a few large scripts (scripts/bundle.mjs), each next to its compiled V8 code. Node loads it in a fraction of the
// time that the modules take. The command (bin/kapstan.js) and @kapstan/testing are loaded from bundles. This file imports only Node's own
// modules, because it is loaded before the rest.
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import Module, { createRequire } from 'node:module';
import { basename, dirname, isAbsolute, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { runInThisContext, Script } from 'node:vm';

export interface BundleOptions {
  /** Modules that the bundle shares with the program, by name. Default: `require` loads all that the bundle does not hold. */
  readonly shared?: Readonly<Record<string, unknown>>;
  /** Called with each script when it is loaded. The build uses it to save the compiled code. */
  readonly onScript?: (file: string, script: Script) => void;
}

/**
 * Returns the bundle of a package, given its folder; undefined when some package was compiled after the bundle was made. So a developer who
 * edits the sources and builds with `tsc -b` alone runs the new code, or is told what is missing. In an installed package nothing is newer
 * than the bundle.
 */
export function currentBundle(packageFolder: URL): URL | undefined {
  const bundle = new URL('dist/bundled/index.cjs', packageFolder);
  const packages = new URL('../', packageFolder);
  const names = readdirSync(packages);
  const bundledMs = modifiedMs(bundle) ?? 0;
  const isCurrent = names.every((name) => (modifiedMs(compilerNote(name, packages)) ?? 0) <= bundledMs);
  if (isCurrent && existsSync(bundle)) return bundle;
  for (const name of names) requireJoined(name, packages);
  return undefined;
}

const compilerNote = (name: string, packages: URL): URL => new URL(`${name}/dist/.tsbuildinfo`, packages);

/**
 * Throws when a package whose modules are joined (scripts/join-modules.mjs) was compiled after that, because the joined
 * ones come from older sources.
 */
function requireJoined(name: string, packages: URL): void {
  const compiled = compilerNote(name, packages);
  // Installed packages have no note.
  if (!existsSync(compiled) || !joinsModules(name, packages)) return;
  const joined = new URL(`${name}/dist/joined.tsbuildinfo`, packages);
  if (existsSync(joined) && readFileSync(compiled).equals(readFileSync(joined))) return;
  throw new Error(`package ${name} was compiled after its modules were joined; run "npm run join"`);
}

function joinsModules(name: string, packages: URL): boolean {
  const manifest = new URL(`${name}/package.json`, packages);
  return existsSync(manifest) && readFileSync(manifest, 'utf8').includes('join-modules.mjs');
}

function modifiedMs(file: URL): number | undefined {
  return existsSync(file) ? statSync(file).mtimeMs : undefined;
}

/** Runs a bundle and returns its exports. */
export function loadBundle(bundle: URL, options: BundleOptions = {}): unknown {
  return new BundleLoader(options).load(fileURLToPath(bundle));
}

/** Returns the path of a script's compiled code. Each Node version, platform and architecture has its own file. */
export function compiledFile(script: string): string {
  return `${script}.${process.version}-${process.platform}-${process.arch}.compiled`;
}

class BundleLoader {
  readonly #options: BundleOptions;
  readonly #loaded = new Map<string, { exports: unknown }>();
  /** The manifests of packages by name. Node looks for them anew each time, which takes a noticeable part of a start. */
  readonly #manifests = new Map<string, string>();

  constructor(options: BundleOptions) {
    this.#options = options;
  }

  load(file: string): unknown {
    const present = this.#loaded.get(file);
    if (present !== undefined) return present.exports;
    const module = { exports: {} };
    this.#loaded.set(file, module);
    const run = isMainContext() ? this.#compiled(file) : compiledInThisContext(file);
    run(module.exports, this.#requireOf(file), module);
    return module.exports;
  }

  #compiled(file: string): BundledScript {
    const script = compiled(file);
    this.#options.onScript?.(file, script);
    return script.runInThisContext();
  }

  #requireOf(file: string): NodeJS.Require {
    const nodeRequire = createRequire(file);
    const { shared = {} } = this.#options;
    const require = (name: string): unknown => {
      if (name.startsWith('./')) return this.load(join(dirname(file), name));
      return Object.hasOwn(shared, name) ? shared[name] : nodeRequire(name);
    };
    // Replaces import(), which V8 does not offer in a script that was loaded from compiled code.
    const importLater = (name: string): Promise<unknown> => {
      const found = nodeRequire.resolve(name);
      return import(isAbsolute(found) ? pathToFileURL(found).href : found);
    };
    const manifestOf = (name: string): string => {
      const manifest = this.#manifests.get(name) ?? nodeRequire.resolve(`${name}/package.json`);
      this.#manifests.set(name, manifest);
      return manifest;
    };
    // Replaces import.meta.url of a module, which is that of the file from which it was bundled.
    const addressOf = (name: string, path: string): string => new URL(path, pathToFileURL(manifestOf(name))).href;
    // Replaces require() of a package that stays outside the bundle.
    const installed = (name: string, by: string): unknown => {
      const path = createRequire(manifestOf(by)).resolve(name);
      return isMainContext() ? this.#installed(path, dirname(file)) : nodeRequire(path);
    };
    return Object.assign(require, nodeRequire, { importLater, addressOf, installed });
  }

  /**
   * Loads a script of a package that stays outside the bundle, and those that it requires, from compiled code that lies in the bundle's
   * folder. Modules are shared with the rest of the program through Node's own cache: LMDB may be loaded only once.
   */
  #installed(path: string, folder: string): unknown {
    const nodeRequire = createRequire(path);
    const known = nodeRequire.cache[path];
    if (known !== undefined) return known.exports;
    const run = this.#compiledModule(path, folder);
    if (run === undefined) return nodeRequire(path);
    const require = (name: string): unknown => {
      const found = nodeRequire.resolve(name);
      return found.endsWith('.cjs') ? this.#installed(found, folder) : nodeRequire(name);
    };
    const module = new Module(path);
    module.filename = path;
    nodeRequire.cache[path] = module;
    try {
      run.call(module.exports, module.exports, Object.assign(require, nodeRequire), module, path, dirname(path));
    } catch (error) {
      delete nodeRequire.cache[path];
      throw error;
    }
    module.loaded = true;
    return module.exports;
  }

  /** Returns undefined when this Node has no compiled code of exactly this text, unless the build asks for it. */
  #compiledModule(path: string, folder: string): ModuleScript | undefined {
    const source = readFileSync(path, 'utf8');
    const file = join(folder, `${hashOf(source)}-${basename(path)}`);
    const cachedData = compiledCode(file);
    const { onScript } = this.#options;
    if (cachedData === undefined && onScript === undefined) return undefined;
    const [, filename = path] = /^.*[\\/]node_modules[\\/](.*)$/.exec(path) ?? [];
    const script = new Script(Module.wrap(source), { filename, cachedData });
    onScript?.(file, script);
    return script.runInThisContext();
  }
}

/** Each script of a bundle is one such function. */
type BundledScript = (exports: unknown, require: NodeJS.Require, module: { exports: unknown }) => void;

/** The function that Node makes of a CommonJS module. */
type ModuleScript = (
  ...module: readonly [exports: unknown, require: NodeJS.Require, module: Module, filename: string, dirname: string]
) => void;

/** V8 compares only the lengths of sources, and another version of a package may have the same. */
function hashOf(source: string): string {
  const { createHash } = createRequire(import.meta.url)('node:crypto') as typeof import('node:crypto');
  return createHash('sha256').update(source).digest('hex').slice(0, 16);
}

/** Returns false in jest, which gives each test file a context with its own `Error` and `Object`. */
function isMainContext(): boolean {
  return runInThisContext('Object') === Object;
}

/**
 * Compiles in the current context. `Script` always runs in the main one, whose errors and objects have other classes than this program's.
 */
function compiledInThisContext(file: string): BundledScript {
  const source = readFileSync(file, 'latin1');
  return new Function(`return ${source}\n//# sourceURL=${nameInStacks(file)}`)();
}

function compiled(file: string): Script {
  // The build writes one function in ASCII. Read as latin1 it stays outside V8's heap, at one byte a letter.
  const source = readFileSync(file, 'latin1');
  const cachedData = compiledCode(file);
  return new Script(source, {
    filename: nameInStacks(file),
    // V8 compares its version, its flags and the source length, and compiles the source when one differs.
    cachedData,
  });
}

/** Leaves out the folder, because compiled code keeps the name under which it was made, wherever it is installed. */
function nameInStacks(file: string): string {
  const packageFolder = dirname(dirname(dirname(file)));
  return `@kapstan/${basename(packageFolder)}/dist/bundled/${basename(file)}`;
}

function compiledCode(file: string): Buffer | undefined {
  const path = compiledFile(file);
  return existsSync(path) ? readFileSync(path) : undefined;
}
