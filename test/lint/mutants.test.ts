// Checks that `npm run test:mutants` can apply the mutants in test/mutants/mutants.json to the sources, and that their
// tests exist. Only that command shows whether each mutant is killed.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

interface Mutant {
  readonly what: string;
  readonly file: string;
  readonly search: string;
  readonly replace: string;
  /** Named as in docs/parity. */
  readonly test: string;
}

const root = new URL('../..', import.meta.url).pathname;
const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const mutants = JSON.parse(read('test/mutants/mutants.json')) as readonly Mutant[];

/** Folder of the suites that engines and stores share. */
const suitesFolder = 'packages/storage/src/testing';

/** Returns the sources that may contain a test of this file: the file, and the suites that such files call. */
function sourcesOf(file: string): string {
  const suites = /conformance/.test(file)
    ? readdirSync(join(root, suitesFolder))
        .filter((name) => /-conformance(-.+)?\.ts$/.test(name))
        .map((name) => join(suitesFolder, name))
    : [];
  return [file, ...suites].map(read).join('\n');
}

const value = /%[sijdf]|\$\{.*?\}/;

/** Returns the titles in a source as patterns, in which a value may be anything. */
function titlesIn(source: string): readonly RegExp[] {
  const texts = source.matchAll(/'((?:[^'\\\n]|\\.)+)'|"((?:[^"\\\n]|\\.)+)"|`((?:[^`\\]|\\.)+)`/g);
  return [...texts].flatMap(([, plain, doubled, template]) => {
    const parts = (plain ?? doubled ?? template ?? '').replaceAll("\\'", "'").split(value);
    // Skips texts that are too short for a title; a text that consists only of a value would match every title.
    if (parts.join('').length < 8) return [];
    return [new RegExp(`^${parts.map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('[^]*')}$`)];
  });
}

describe('test/mutants', () => {
  it('knows the titles of a source, with values and without, and no others', () => {
    const source = "it('does a thing'); it.each([1])('takes no more than %i of it'); it('%s'); it('%j: %s');";
    const isTitle = (title: string): boolean => titlesIn(source).some((pattern) => pattern.test(title));
    expect(['does a thing', 'takes no more than 5 of it'].map(isTitle)).toEqual([true, true]);
    expect(['does another thing', 'does a thing well', 'takes 5 of it', ''].map(isTitle)).toEqual([
      false,
      false,
      false,
      false,
    ]);
  });

  it('holds thirty mutants or more, each once, of engine, store and cache', () => {
    expect(mutants.length).toBeGreaterThanOrEqual(30);
    expect(new Set(mutants.map(({ file, replace, search }) => file + search + replace)).size).toBe(mutants.length);
    for (const name of ['storage-lmdb', 'storage', 'cacher'])
      expect(mutants.filter(({ file }) => file.startsWith(`packages/${name}/src/`)).length).toBeGreaterThanOrEqual(5);
  });

  it('holds thirty mutants or more of the list/watch machine, informers and controllers, some of each part', () => {
    const parts = [
      'api/src/watch/list-watch-machine.ts',
      'informers/src/reflector/reflector-driver.ts',
      'informers/src/fifo/delta-fifo.ts',
      'informers/src/fifo/in-order-fifo.ts',
      'informers/src/store/indexer.ts',
      'informers/src/handlers/distributor.ts',
      'controller/src/workqueue/',
      'controller/src/reconcile/reconcile-loop.ts',
      'controller/src/leader-election/',
    ];
    const ofParts = parts.map((part) => mutants.filter(({ file }) => file.startsWith(`packages/${part}`)).length);
    expect(parts.filter((_, index) => (ofParts[index] ?? 0) < 2)).toEqual([]);
    expect(ofParts.reduce((sum, count) => sum + count, 0)).toBeGreaterThanOrEqual(30);
  });

  it.each(mutants)('$file: $what: stands where it can be applied', ({ file, search, replace }) => {
    expect(existsSync(join(root, file)), file).toBe(true);
    expect(read(file).split(search), search).toHaveLength(2);
    expect(`${search}${replace}`).not.toContain('\n');
    expect(replace).not.toBe(search);
  });

  it.each(mutants)('$file: $what: its test exists', ({ test }) => {
    const [file = '', name = ''] = test.split(' › ');
    const title = name.split(' > ').at(-1) ?? '';
    // Tests are named as the run reports them, with their values.
    expect(name).not.toMatch(/%[sijdf#]/);
    expect(titlesIn(sourcesOf(file)).filter((pattern) => pattern.test(title)).length, test).toBeGreaterThan(0);
  });
});
