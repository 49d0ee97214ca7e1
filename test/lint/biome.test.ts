import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

// Every fixture under test/lint-fixtures/biome breaks the rule after which it is named. The fixtures are linted in a
// separate folder, because the repository's own configuration excludes them.
interface Finding {
  readonly rule: string;
  readonly file: string;
}

const root = new URL('../..', import.meta.url).pathname;
const rules = readErrorRules();
let folder: string;
let findings: readonly Finding[];

function readErrorRules(): readonly string[] {
  const { linter } = JSON.parse(readFileSync(join(root, 'biome.json'), 'utf8'));
  return Object.entries(linter.rules)
    .filter(([group]) => group !== 'recommended' && group !== 'preset')
    .flatMap(([, group]) =>
      Object.entries(group as object)
        .filter(([, level]) => level !== 'off')
        .map(([rule]) => rule),
    );
}

function lint(): readonly Finding[] {
  try {
    const biome = join(root, 'node_modules/@biomejs/biome/bin/biome');
    execFileSync(process.execPath, [biome, 'lint', '--reporter=json', '--max-diagnostics=none', '.'], {
      cwd: folder,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    return [];
  } catch (error) {
    const { diagnostics } = JSON.parse((error as { stdout: string }).stdout);
    return diagnostics.map((diagnostic: { category: string; location: { path: string | { file: string } } }) => {
      const { path } = diagnostic.location;
      return { rule: basename(diagnostic.category), file: typeof path === 'string' ? path : path.file };
    });
  }
}

const kebab = (name: string) => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'kapstan-biome-'));
  cpSync(join(root, 'test/lint-fixtures/biome'), folder, { recursive: true });
  const { vcs: _vcs, $schema: _schema, ...config } = JSON.parse(readFileSync(join(root, 'biome.json'), 'utf8'));
  writeFileSync(join(folder, 'biome.json'), JSON.stringify(config));
  findings = lint();
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('biome.json', () => {
  it.each(rules)('%s refuses its fixture', (rule) => {
    const name = rule === 'useFilenamingConvention' ? rule : kebab(rule);
    const files = findings.filter((finding) => finding.rule === rule).map((finding) => basename(finding.file));
    expect(files).toContain(`${name}.ts`);
  });

  it('lets clock.ts alone read the time', () => {
    expect(findings.filter((finding) => finding.file.endsWith('/clock.ts'))).toEqual([]);
  });
});
