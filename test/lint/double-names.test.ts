// No two files of the server's packages export one name: a reader who searches for it finds one thing.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const declared = /^export (?:abstract )?(?:async )?(?:function\*?|class|interface|type|const) (\w+)/gm;

/** Returns "name: its files" for each name that more than one file exports. */
function doublesOf(name: string): readonly string[] {
  const files = execFileSync('git', ['ls-files', `packages/${name}/src/*.ts`], { cwd: root, encoding: 'utf8' });
  const filesOf = new Map<string, Set<string>>();
  for (const file of files.split('\n').filter((each) => each !== '' && !/\.test\.ts$|\/testing\//.test(each))) {
    for (const [, exported = ''] of readFileSync(join(root, file), 'utf8').matchAll(declared)) {
      const known = filesOf.get(exported) ?? new Set();
      filesOf.set(exported, known.add(file.replace(`packages/${name}/src/`, '')));
    }
  }
  return [...filesOf].filter(([, found]) => found.size > 1).map(([each, found]) => `${each}: ${[...found].join(', ')}`);
}

it.each([
  'storage',
  'storage-lmdb',
  'storage-etcd',
  'cacher',
  'apiserver',
  'apiextensions',
  'kubernetes',
  'control-plane',
])('no two files of %s export one name', (name) => {
  expect(doublesOf(name)).toEqual([]);
});
