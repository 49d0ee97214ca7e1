// A bundle is a package in a few large scripts (scripts/bundle.mjs), with the code that V8 made of them beside each: Node reads and
// compiles it in a fraction of the time of the modules. The command (bin/kapstan.js) and @kapstan/testing are loaded from bundles.
// Only Node's own modules are imported here, as this file is loaded before the rest.
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, isAbsolute, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { runInThisContext, Script } from 'node:vm';

export interface BundleOptions {
  /** Modules that the bundle shares with the program, by name. Default: all that it does not hold comes from `require`. */
  readonly shared?: Readonly<Record<string, unknown>>;
  /** Told of each script when it is loaded, by the build, which keeps the compiled code. */
  readonly onScript?: (file: string, script: Script) => void;
}

/**
 * The bundle of a package, given its folder; undefined where a package was compiled after it was made, as whoever works on the sources
 * and builds by `tsc -b` alone runs what was written. An installed package has nothing that could be newer.
 */
export function currentBundle(packageFolder: URL): URL | undefined {
  const bundle = new URL('dist/bundled/index.cjs', packageFolder);
  const bundledMs = modifiedMs(bundle);
  if (bundledMs === undefined) return undefined;
  const packages = new URL('../', packageFolder);
  const isCurrent = readdirSync(packages).every((name) => {
    const compiledMs = modifiedMs(new URL(`${name}/dist/.tsbuildinfo`, packages));
    return compiledMs === undefined || compiledMs <= bundledMs;
  });
  return isCurrent ? bundle : undefined;
}

function modifiedMs(file: URL): number | undefined {
  return existsSync(file) ? statSync(file).mtimeMs : undefined;
}

/** Runs a bundle and returns what it exports. */
export function loadBundle(bundle: URL, options: BundleOptions = {}): unknown {
  return new BundleLoader(options).load(fileURLToPath(bundle));
}

/** Where the compiled code of a script lies; of each Node its own. */
export function compiledFile(script: string): string {
  return `${script}.${process.version}-${process.platform}-${process.arch}.compiled`;
}

class BundleLoader {
  readonly #options: BundleOptions;
  readonly #loaded = new Map<string, { exports: unknown }>();

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
    // In place of import(), which V8 gives to nobody in a script that comes from compiled code.
    const importLater = (name: string): Promise<unknown> => {
      const found = nodeRequire.resolve(name);
      return import(isAbsolute(found) ? pathToFileURL(found).href : found);
    };
    return Object.assign(require, nodeRequire, { importLater });
  }
}

/** The function that each script of a bundle is. */
type BundledScript = (exports: unknown, require: NodeJS.Require, module: { exports: unknown }) => void;

/** False in jest, which gives each test file a context with an `Error` and an `Object` of its own. */
function isMainContext(): boolean {
  return runInThisContext('Object') === Object;
}

/** `Script` always runs in the main context, where errors and objects are of other classes than those of this program. */
function compiledInThisContext(file: string): BundledScript {
  const source = readFileSync(file, 'latin1');
  return new Function(`return ${source}\n//# sourceURL=${nameInStacks(file)}`)();
}

function compiled(file: string): Script {
  // The build writes one function, in ASCII. Read as latin1 it stays where it is, outside of V8's heap, in one byte a letter.
  const source = readFileSync(file, 'latin1');
  const cachedData = compiledCode(file);
  return new Script(source, {
    filename: nameInStacks(file),
    // V8 compares its version, its flags and the lengths of both, and compiles the source where one differs.
    ...(cachedData === undefined ? {} : { cachedData }),
  });
}

/** Without the folder, as compiled code keeps the name that it was made with, wherever it is installed. */
function nameInStacks(file: string): string {
  const packageFolder = dirname(dirname(dirname(file)));
  return `@kapstan/${basename(packageFolder)}/dist/bundled/${basename(file)}`;
}

function compiledCode(file: string): Buffer | undefined {
  const path = compiledFile(file);
  return existsSync(path) ? readFileSync(path) : undefined;
}
