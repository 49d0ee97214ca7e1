// Checks the packages whose modules the build joins (docs/decisions/0046-joined-modules.md), as Node loads them from dist.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { joinsModules } from '../../scripts/built-package.mjs';

interface Manifest {
  readonly exports: Readonly<Record<string, string | Readonly<Record<string, string>>>>;
}

const root = fileURLToPath(new URL('../..', import.meta.url));
const packages = readdirSync(join(root, 'packages')).filter((name) => joinsModules(join(root, 'packages', name)));
const sdk = ['api', 'client', 'controller', 'informers'];

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'kapstan-joined-'));
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
});
afterAll(() => rmSync(folder, { recursive: true }));

/** Runs a program of a user of the packages, and returns what it printed. */
function output(program: string, ...flags: readonly string[]): string {
  const file = join(folder, 'program.mjs');
  writeFileSync(file, program);
  return execFileSync(process.execPath, [...flags, file], { cwd: folder, encoding: 'utf8' });
}

/** Returns the sources of the entry points by the names under which programs import them. */
function entryPoints(name: string): Readonly<Record<string, string>> {
  const { exports } = JSON.parse(readFileSync(join(root, 'packages', name, 'package.json'), 'utf8')) as Manifest;
  const found = Object.entries(exports).flatMap(([path, target]) =>
    typeof target === 'string' ? [] : [[`@kapstan/${name}${path.slice(1)}`, target['@kapstan/source'] ?? '']],
  );
  return Object.fromEntries(found.map(([entry, source]) => [entry, join(root, 'packages', name, source ?? '')]));
}

const filesOf = (name: string): readonly string[] =>
  readdirSync(join(root, 'packages', name, 'dist'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.js'))
    .map((file) => join(root, 'packages', name, 'dist', file));

it('are those of the SDK', () => {
  expect(packages).toEqual(sdk);
});

describe.each(sdk)('%s', (name) => {
  it('exports from each entry point what its source exports, under the same names, and each value once', async () => {
    const entries = entryPoints(name);
    const built = JSON.parse(
      output(`
        const same = new Map();
        const found = {};
        for (const entry of ${JSON.stringify(Object.keys(entries))}) {
          const module = await import(entry);
          found[entry] = Object.entries(module).map(([name, value]) => [name, typeof value, value?.name ?? '']);
          for (const [name, value] of Object.entries(module)) {
            if (same.has(name) && same.get(name) !== value) throw new Error(entry + ' has another ' + name);
            same.set(name, value);
          }
        }
        console.log(JSON.stringify(found));`),
    );
    for (const [entry, source] of Object.entries(entries)) {
      const module = (await import(source)) as Readonly<Record<string, { readonly name?: string } | undefined>>;
      const expected = Object.entries(module).map(([key, value]) => [key, typeof value, value?.name ?? '']);
      expect(built[entry].sort(), entry).toEqual(expected.sort());
    }
  });

  it('has each source in one file, with a source map that leads to it', () => {
    const sources = filesOf(name).flatMap((file) => {
      const code = readFileSync(file, 'utf8');
      const url = /\/\/# sourceMappingURL=(\S+)\s*$/.exec(code)?.[1];
      // A file that only exports what others hold has no map.
      if (url === undefined) return [];
      const map = JSON.parse(readFileSync(join(dirname(file), url), 'utf8')) as { readonly sources: readonly string[] };
      return map.sources.map((source) => relative(join(root, 'packages', name), resolve(dirname(file), source)));
    });
    expect(sources.length).toBeGreaterThan(35);
    expect(sources).toEqual([...new Set(sources)]);
    for (const source of sources) expect(source).toMatch(/^src\/.*\.ts$/);
  });

  it('has no side effects that would make a bundler keep what a program does not use', async () => {
    const kept: string[] = [];
    for (const file of filesOf(name)) kept.push(...(await sideEffects(file)));
    // A program that uses undici needs this.
    expect(kept).toEqual(name === 'client' ? ['DispatcherClass.prototype.request = requestMethod;'] : []);
  });
});

/** Returns the statements of a file that a bundler keeps for a program that uses none of its exports. */
async function sideEffects(file: string): Promise<readonly string[]> {
  const bundle = await rolldown({
    input: 'program',
    platform: 'node',
    external: (id) => id !== file && id !== 'program',
    treeshake: { moduleSideEffects: true },
    plugins: [
      {
        name: 'program',
        resolveId: (id) => (id === 'program' ? id : null),
        load: (id) => (id === 'program' ? `import ${JSON.stringify(file)};` : null),
        // The package says that its modules have none, which would leave out the file as a whole.
        transform: (code, id) => (id === file ? { code, moduleSideEffects: true } : null),
      },
    ],
  });
  const { output: chunks } = await bundle.generate({ format: 'esm', comments: false });
  await bundle.close();
  return chunks[0].code.split('\n').filter((line) => line !== '' && !/^(?:import|\/\/|export \{\};)/.test(line));
}

describe('an import of @kapstan/controller', () => {
  /** Returns the files that the import loads: ES modules, and those that are required. */
  function loaded(): readonly string[] {
    const hooks = `import { writeSync } from 'node:fs';
      export async function load(url, context, next) {
        if (url.startsWith('file:')) writeSync(1, url + '\\n');
        return next(url, context);
      }`;
    const register = `import { register } from 'node:module';
      register('data:text/javascript,' + encodeURIComponent(${JSON.stringify(hooks)}));`;
    const program = `import '@kapstan/controller';
      import { createRequire } from 'node:module';
      const { cache } = createRequire(import.meta.url);
      for (const file of Object.keys(cache)) console.log('file://' + file);`;
    const preload = `data:text/javascript,${encodeURIComponent(register)}`;
    const urls = new Set(output(program, '--import', preload).split('\n').filter(Boolean));
    return [...urls].filter((url) => !url.endsWith('/program.mjs'));
  }

  it('loads few files, and none of those for later', () => {
    const files = loaded();
    const own = files.filter((url) => url.includes('/packages/')).map((url) => url.replace(/.*\/packages\//, ''));
    expect(own).toContain('controller/dist/index.js');
    expect(files.some((url) => url.includes('/node_modules/rxjs/'))).toBe(true);
    // Separate modules were 200 of our own, 257 with those of rxjs and prom-client.
    expect(own.length, own.join(' ')).toBeLessThan(20);
    expect(files.length).toBeLessThan(80);
    expect(own.filter((file) => /^(client|inspector)\/|webhook-runner|manager-inspection|issuer/.test(file))).toEqual(
      [],
    );
  });
});

describe('a stack', () => {
  const program = `
    import { labelSelectorFrom } from '@kapstan/api';
    try {
      labelSelectorFrom({ matchExpressions: [{ key: 'a', operator: 'Near' }] });
    } catch (error) {
      console.log(error.stack);
    }`;
  /** The topmost frame: function, file, line. */
  const frame = /\n {4}at (?:new )?([\w.#]+) \((?:file:\/\/)?(\/[^)]*?):(\d+):\d+\)/;

  it('shows lines of the sources under --enable-source-maps', () => {
    const [, , file = '', line] = frame.exec(output(program, '--enable-source-maps')) ?? [];
    expect(relative(root, file)).toMatch(/^packages\/api\/src\/.*\.ts$/);
    expect(readFileSync(file, 'utf8').split('\n')[Number(line) - 1]).toMatch(/throw|Error\(/);
  });

  it('shows the names of functions without that flag', () => {
    const stack = output(program);
    expect(stack).toMatch(/at labelSelectorFrom \(.*\/packages\/api\/dist\/\w+\.js:\d+:\d+\)/);
  });

  it.each([[[]], [['--enable-source-maps']]])(
    'of a reconcile is logged with the lines of the program (%j)',
    (flags) => {
      const { thrown, logged } = JSON.parse(
        output(
          `
        import { ReconcileLoop } from '@kapstan/controller';
        import { RateLimitingQueue } from '@kapstan/controller/workqueue';

        const queue = new RateLimitingQueue({ name: 'q' });
        const stop = new AbortController();
        let thrown, logged;
        const error = (message, fields) => {
          logged = fields.error.stack;
          stop.abort();
        };
        const nothing = () => undefined;
        const logger = { debug: nothing, info: nothing, warn: error, error };
        const reconcile = async () => {
          const failure = new Error('no');
          thrown = failure.stack;
          throw failure;
        };
        queue.add('a');
        await new ReconcileLoop({ queue, reconcile, logger }).run(stop.signal);
        console.log(JSON.stringify({ thrown, logged }));`,
          ...flags,
        ),
      );
      const inController =
        flags.length > 0 ? '/controller/src/reconcile/reconcile-loop.ts' : '/controller/dist/index.js';
      expect(thrown).toContain(inController);
      expect(logged).toContain('/program.mjs:');
      expect(logged).not.toContain('/controller/');
    },
  );
});
