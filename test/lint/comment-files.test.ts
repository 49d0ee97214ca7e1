// Checks that comments send their reader to the right files: each `.ts` file that a comment names exists, and the files that a head
// names after "Used by" import the file. A name without a folder means a file of the same package; a path may begin at the root, at
// `packages`, or at any folder below.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const listed = (...patterns: readonly string[]): readonly string[] =>
  execFileSync('git', ['ls-files', ...patterns], { cwd: root, encoding: 'utf8' })
    .split('\n')
    .filter(Boolean);

const comment = /^\s*(?:\/\*\*?|\*|\/\/)(.*)$|[;,{([}\])]\s+\/\/(.*)$/;
// `*.ts` and `src/*.ts` are patterns of names, not files.
const fileName = /(?<![\w.@*/-])(?:[\w.@-]+\/)*[\w-]+(?:\.[\w-]+)*\.ts\b/g;

/** Returns the files that the comments of a source name. */
function namedFiles(source: string): readonly string[] {
  return source.split('\n').flatMap((line) => {
    const found = comment.exec(line);
    return [...(found?.[1] ?? found?.[2] ?? '').matchAll(fileName)].map(([name]) =>
      name.replace(/^(?:\.{1,2}\/)+/, ''),
    );
  });
}

/** Returns the folder in which a name without a folder is looked for. */
const homeOf = (file: string): string => /^packages\/[^/]+\/|^/.exec(file)?.[0] ?? '';

const baseName = (file: string): string => file.slice(file.lastIndexOf('/') + 1);

const filesByName = new Map<string, string[]>();
for (const file of listed('*.ts', '*.mts')) {
  const name = baseName(file);
  filesByName.set(name, [...(filesByName.get(name) ?? []), file]);
}

/** Returns the files that a name in a comment of `from` may mean. */
function filesOf(name: string, from: string): readonly string[] {
  const isPath = name.includes('/');
  const files = filesByName.get(baseName(name)) ?? [];
  return files.filter((file) => (isPath || file.startsWith(homeOf(from))) && `/${file}`.endsWith(`/${name}`));
}

/** Returns the files that the comment at the top of a source names in its sentences "Used by …". */
function namedUsers(source: string): readonly string[] {
  const head = /^(?:\/\/.*\n)*/.exec(source)?.[0].replaceAll(/\n\/\/ ?/g, ' ') ?? '';
  return [...head.matchAll(/\b[Uu]sed (?:only )?by (.*?)(?:\.\s|;|\(|$)/gm)].flatMap(([, users = '']) =>
    [...users.matchAll(fileName)].map(([name]) => name),
  );
}

/** Returns the users named in a source's head that do not import it. Declarations have no importers, nor has a file in other packages. */
function strangers(file: string): readonly string[] {
  if (file.endsWith('.d.ts')) return [];
  return namedUsers(readFileSync(join(root, file), 'utf8')).filter((name) => {
    const users = filesOf(name, file).filter((user) => user.startsWith(homeOf(file)));
    const imports = (user: string): boolean => readFileSync(join(root, user), 'utf8').includes(`/${baseName(file)}'`);
    return users.length > 0 && !users.some(imports);
  });
}

describe('a comment', () => {
  it('is read by this test', () => {
    expect(
      namedFiles("import a from './a.ts';\n// Used by b.ts, see c/d.test.ts and *.ts.\nrun(); // as in index.ts"),
    ).toEqual(['b.ts', 'c/d.test.ts', 'index.ts']);
  });

  it('names files that exist', () => {
    const sources = listed('*.ts', '*.mts', '*.mjs', '*.cjs').filter((file) => !file.includes('/generated/'));
    const missing = sources.flatMap((file) =>
      namedFiles(readFileSync(join(root, file), 'utf8'))
        .filter((name) => filesOf(name, file).length === 0)
        .map((name) => `${file}: ${name}`),
    );
    expect(missing).toEqual([]);
  }, 60_000);

  it('is read for the users that it names', () => {
    expect(namedUsers('// A noun. Used by a.ts and\n// c/b.ts. Source: d.ts.\nimport e;\n// Used by f.ts.\n')).toEqual([
      'a.ts',
      'c/b.ts',
    ]);
  });

  it('names users that import the file', () => {
    const sources = listed('packages/*/src/**/*.ts').filter((file) => !file.includes('/generated/'));
    expect(sources.flatMap((file) => strangers(file).map((name) => `${file}: ${name}`))).toEqual([]);
  }, 60_000);
});
