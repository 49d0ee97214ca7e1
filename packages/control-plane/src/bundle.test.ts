import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { EOL, tmpdir } from 'node:os';
import { basename, dirname, join, relative } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { Script } from 'node:vm';
import { afterAll, describe, expect, it } from 'vitest';
import { compiledFile, currentBundle, loadBundle } from './bundle.ts';

const root = mkdtempSync(join(tmpdir(), 'kapstan-bundle-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const chosen = (): string | undefined => {
  const bundle = currentBundle(pathToFileURL(join(root, 'control-plane', '/')));
  return bundle === undefined ? undefined : relative(root, fileURLToPath(bundle));
};

function write(path: string, { text = '', seconds = 0 }: { text?: string | Buffer; seconds?: number }): URL {
  const file = join(root, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  utimesSync(file, seconds, seconds);
  return pathToFileURL(file);
}

it('is used until a package is compiled after it', () => {
  write('control-plane/dist/.tsbuildinfo', { seconds: 100 });
  write('storage/dist/.tsbuildinfo', { seconds: 100 });
  expect(chosen(), 'nothing is bundled').toBeUndefined();
  write('control-plane/dist/bundled/index.cjs', { seconds: 200 });
  expect(chosen()).toBe('control-plane/dist/bundled/index.cjs');
  write('storage/dist/.tsbuildinfo', { seconds: 201 });
  expect(chosen(), 'another package is newer').toBeUndefined();
});

it('gives way to modules only while those that are joined are of the present sources', () => {
  write('api/package.json', { text: '{ "scripts": { "build": "tsc -b && node ../../scripts/join-modules.mjs" } }' });
  write('api/dist/.tsbuildinfo', { text: 'new', seconds: 300 });
  expect(chosen, 'its modules were never joined').toThrow('package api was compiled after its modules were joined');
  write('api/dist/joined.tsbuildinfo', { text: 'old', seconds: 400 });
  expect(chosen).toThrow('package api was compiled after its modules were joined; run "npm run join"');
  write('api/dist/joined.tsbuildinfo', { text: 'new', seconds: 400 });
  expect(chosen()).toBeUndefined();
  rmSync(join(root, 'api'), { recursive: true });
});

it('is used where packages are installed, which leave out what the compiler notes', () => {
  rmSync(join(root, 'control-plane/dist/.tsbuildinfo'));
  rmSync(join(root, 'storage/dist/.tsbuildinfo'));
  write('.package-lock.json', { seconds: 300 });
  expect(chosen()).toBe('control-plane/dist/bundled/index.cjs');
});

/**
 * `mark` is one letter, because V8 compiles each text once per process and reuses the compiled code for any text of the same length.
 */
const indexText = (mark: string): string => `(function (exports, require, module) {
    // ${mark}
    const part = require('./part.cjs');
    Object.assign(exports, part, { answer: () => part.answer(require('node:path').basename(__filename_of_part()), require('shared').name) });
    const __filename_of_part = () => part.file;
  })`;
const index = write('loaded/index.cjs', { text: indexText('-') });
write('loaded/part.cjs', {
  text: `(function (exports, require, module) {
    exports.file = require.resolve('node:path');
    exports.answer = (...names) => names.join(' ');
    exports.index = require('./index.cjs');
    exports.later = () => require.importLater('node:os');
    exports.fail = () => { throw new Error('here'); };
  })`,
});

interface Loaded {
  answer(): string;
  later(): Promise<typeof import('node:os')>;
  fail(): never;
}

function load(): { readonly loaded: Loaded; readonly answer: string; readonly scripts: Map<string, Script> } {
  const scripts = new Map<string, Script>();
  const onScript = (file: string, script: Script): void => void scripts.set(file, script);
  const loaded = loadBundle(index, { shared: { shared: { name: 'given' } }, onScript }) as Loaded;
  return { loaded, answer: loaded.answer(), scripts };
}

it("loads its scripts once each, Node's modules from Node, and the shared ones as they are given", () => {
  const { answer, scripts } = load();
  expect(answer).toBe('node:path given');
  expect([...scripts.keys()].map((file) => relative(root, file))).toEqual(['loaded/index.cjs', 'loaded/part.cjs']);
});

it('imports what it needs later, and has stacks that name the package and no folder of this machine', async () => {
  const { loaded } = load();
  expect((await loaded.later()).EOL).toBe(EOL);
  expect(loaded.fail).toThrow(
    expect.objectContaining({ stack: expect.stringMatching(/\(@kapstan\/.*\/part\.cjs:6:/) }),
  );
});

it('takes the compiled code of this Node, and does without where that is of other flags or cut off', () => {
  const { scripts } = load();
  const file = fileURLToPath(index);
  const code = scripts.get(file)?.createCachedData() ?? Buffer.alloc(0);
  const isRejected = (data: Buffer, mark: number): boolean | undefined => {
    writeFileSync(file, indexText(String(mark)));
    writeFileSync(compiledFile(file), data);
    const { answer, scripts: again } = load();
    expect(answer).toBe('node:path given');
    return again.get(file)?.cachedDataRejected;
  };
  const otherFlags = Buffer.from(code);
  // V8's compiled code begins with a magic number, then hashes of version, source and flags.
  otherFlags.writeUInt8(otherFlags.readUInt8(12) ^ 1, 12);
  expect([code, otherFlags, code.subarray(0, 100), Buffer.alloc(0)].map(isRejected)).toEqual([false, true, true, true]);
  rmSync(compiledFile(file));
});

describe('a package that stays outside the bundle', () => {
  const bundle = write('app/dist/bundled/index.cjs', {
    text: `(function (exports, require) { exports.load = () => require.installed('engine', 'owner'); exports.address = () => require.addressOf('owner', 'dist/part.js'); })`,
  });
  const folder = join(root, 'app/node_modules/engine');
  const nodeRequire = createRequire(bundle);
  write('app/node_modules/owner/package.json', { text: '{}' });
  write('app/node_modules/engine/package.json', { text: '{"main":"index.cjs"}' });
  write('app/node_modules/engine/plain.js', { text: 'exports.name = "plain";' });

  /** Loads the package as a new process would, after its script got this text. */
  const engine = (answer: string, onScript?: (file: string, script: Script) => void): Engine => {
    for (const name of ['index.cjs', 'part.cjs', 'plain.js']) delete nodeRequire.cache[join(folder, name)];
    write('app/node_modules/engine/part.cjs', { text: `module.exports = ${JSON.stringify(answer)};` });
    write('app/node_modules/engine/index.cjs', {
      text: `Object.assign(exports, { answer: () => require('./part.cjs'), folder: __dirname, plain: require('./plain.js'), self: module, fail: () => { throw new Error('here'); } });`,
    });
    return (loadBundle(bundle, onScript === undefined ? {} : { onScript }) as { load(): Engine }).load();
  };
  const scriptsOf = (answer: string): Map<string, Script> => {
    const scripts = new Map<string, Script>();
    engine(answer, (file, script) => void scripts.set(basename(file).replace(/^[0-9a-f]+-/, ''), script)).answer();
    return scripts;
  };

  it('is the one that Node has, with or without compiled code', () => {
    expect(engine('one')).toBe(nodeRequire('engine'));
    const compiled = engine('one', () => undefined);
    expect(compiled).toBe(nodeRequire('engine'));
    expect([compiled.answer(), compiled.folder, compiled.plain.name, compiled.self.loaded]).toEqual([
      'one',
      folder,
      'plain',
      true,
    ]);
    expect(compiled.fail).toThrow(expect.objectContaining({ stack: expect.stringMatching(/\(engine\/index\.cjs:1:/) }));
  });

  it('is found by its address, wherever it is installed', () => {
    const { address } = loadBundle(bundle) as { address(): string };
    const expected = pathToFileURL(join(root, 'app/node_modules/owner/dist/part.js')).href;
    expect([address(), address()]).toEqual([expected, expected]);
  });

  it('takes compiled code of exactly its text, although V8 would take that of any text of this length', () => {
    engine('one', (file, script) => writeFileSync(compiledFile(file), script.createCachedData())).answer();
    expect(scriptsOf('one').get('part.cjs')?.cachedDataRejected).toBe(false);
    expect(scriptsOf('two').get('part.cjs')?.cachedDataRejected).toBeUndefined();
    expect(engine('two').answer()).toBe('two');
  });
});

interface Engine {
  readonly folder: string;
  readonly plain: { readonly name: string };
  readonly self: NodeJS.Module;
  answer(): string;
  fail(): never;
}
