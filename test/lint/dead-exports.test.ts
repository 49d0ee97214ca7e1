// Exports that only tests use: a function, class or constant that is exported from a package's source must be named in another file that is
// not a test, or be used in its own file. Code only for tests belongs in a folder `testing`.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** `loadCommand` is called by the committed `bin/kapstan.js`, `noneKnown` by the kit that reads recorded rules. */
const exempt = ['loadCommand', 'noneKnown'];

const isForTests = (file: string): boolean => /\.test(-d)?\.ts$|^test\/|\/testing\//.test(file);

it('no function, class or constant is exported for tests alone', () => {
  const listed = execFileSync('git', ['ls-files', 'packages/*/src/**', 'examples/**', 'bench/**', 'scripts/**'], {
    cwd: root,
    encoding: 'utf8',
  });
  const files = listed.split('\n').filter((file) => /\.(ts|mjs)$/.test(file) && !isForTests(file));
  const uses = new Map<string, number>();
  const exported: { readonly file: string; readonly name: string }[] = [];
  for (const file of files) {
    if (file.startsWith('packages/kinds/src/generated/')) continue;
    const text = readFileSync(join(root, file), 'utf8').replaceAll(/^\s*(\/\/|\/?\*).*$/gm, '');
    for (const [word] of text.matchAll(/\b[A-Za-z_$][\w$]*\b/g)) uses.set(word, (uses.get(word) ?? 0) + 1);
    const declared = /^export (?:async )?(?:function\*?|class|abstract class|const) ([\w$]+)/gm;
    if (!file.startsWith('packages/')) continue;
    for (const [, name = ''] of text.matchAll(declared)) exported.push({ file, name });
  }
  const dead = exported.filter(({ name }) => uses.get(name) === 1 && !exempt.includes(name));
  expect(dead.map(({ file, name }) => `${file}: ${name}`)).toEqual([]);
});
