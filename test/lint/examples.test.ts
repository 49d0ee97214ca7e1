// The numbered examples are short enough to be read in one go, and a test runs each.
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const text = (path: string): string => readFileSync(`${root}/${path}`, 'utf8');
const folders = readdirSync(`${root}/examples`).filter((name) => /^\d\d-/.test(name));
const sources = folders.flatMap((folder) =>
  readdirSync(`${root}/examples/${folder}`)
    .filter((name) => name.endsWith('.ts'))
    .map((name) => `${folder}/${name}`),
);

describe('the numbered examples', () => {
  it('are numbered from 01 without a gap', () => {
    const numbers = folders.sort().map((name) => Number(name.slice(0, 2)));
    expect(numbers).toEqual(Array.from({ length: folders.length }, (_, index) => index + 1));
    expect(folders.length).toBeGreaterThanOrEqual(6);
  });

  it.each(sources)('%s has at most 80 lines, and 150 where it is a whole server or engine', (source) => {
    expect(text(`examples/${source}`).trimEnd().split('\n').length).toBeLessThanOrEqual(
      /^0[78]-/.test(source) ? 150 : 80,
    );
  });

  it('show an API server of one’s own in 150 lines, over five packages that know no kind', () => {
    const own = sources.filter((source) => source.startsWith('07-')).map((source) => text(`examples/${source}`));
    expect(own.join('').trimEnd().split('\n').length).toBeLessThanOrEqual(150);
    const imported = own.flatMap((source) => [...source.matchAll(/(?:from|import)\s*\(?\s*'([^']+)'/g)]);
    const packages = imported.map(([, name = '']) => name).filter((name) => !/^(?:node:|\.\/)/.test(name));
    const allowed = ['api', 'storage', 'storage-lmdb', 'cacher', 'apiserver'];
    expect(packages.length).toBeGreaterThan(3);
    expect(packages.filter((name) => !allowed.includes(/^@kapstan\/([^/]+)/.exec(name)?.[1] ?? ''))).toEqual([]);
  });

  it.each(folders)('%s is run by a test, which compares its output if it has any', (folder) => {
    const wholes = ['own-api-server', 'joined-api-server', 'own-engine'].map((name) =>
      text(`test/e2e/${name}.test.ts`),
    );
    if (wholes.some((test) => test.includes(`/${folder}/`))) return;
    const own = sources.filter((source) => source.startsWith(folder));
    const prints = own.some((source) => text(`examples/${source}`).includes('console.log('));
    if (prints) expect(text('test/e2e/examples.test.ts')).toContain(`await expected('${folder}')`);
    else expect(text('test/e2e/sample-controllers.test.ts')).toContain(`examples/${folder}/`);
  });
});
