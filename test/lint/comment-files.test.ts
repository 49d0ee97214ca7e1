// Checks that comments send their reader to files that exist: each `.ts` file that a comment names is there. A name without a folder
// means a file of the same package; a path may begin at the root, at `packages`, or at any folder below.
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

const filesByName = new Map<string, string[]>();
for (const file of listed('*.ts', '*.mts')) {
  const name = file.slice(file.lastIndexOf('/') + 1);
  filesByName.set(name, [...(filesByName.get(name) ?? []), file]);
}

function exists(name: string, from: string): boolean {
  const isPath = name.includes('/');
  const files = filesByName.get(name.slice(name.lastIndexOf('/') + 1)) ?? [];
  return files.some((file) => (isPath || file.startsWith(homeOf(from))) && `/${file}`.endsWith(`/${name}`));
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
        .filter((name) => !exists(name, file))
        .map((name) => `${file}: ${name}`),
    );
    expect(missing).toEqual([]);
  }, 60_000);
});
