// Checks ARCHITECTURE.md and README.md against the repository: whatever they name exists. walk.test.ts checks the walk.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

interface LayerTable {
  readonly packages: Readonly<
    Record<
      string,
      { readonly mayImport: readonly string[]; readonly mayImportFrom?: Readonly<Record<string, readonly string[]>> }
    >
  >;
}

interface NamedTest {
  readonly invariant: string;
  readonly file: string;
  readonly name: string;
}

const root = new URL('../..', import.meta.url).pathname;
const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const text = read('ARCHITECTURE.md');

/** Returns the text from a heading to the next one. */
function section(title: string): string {
  const [, rest = ''] = text.split(`\n## ${title}\n`);
  return rest.split('\n## ')[0] ?? '';
}

const matches = (source: string, pattern: RegExp): readonly RegExpExecArray[] =>
  [...source.matchAll(pattern)] as RegExpExecArray[];
const group = (match: RegExpExecArray, index: number): string => match[index] ?? '';
const rowsOf = (title: string): readonly string[][] =>
  section(title)
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .slice(2)
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );

/** Files are named from the root, or in the walk from packages/. */
const isThere = (path: string): boolean => existsSync(join(root, path)) || existsSync(join(root, 'packages', path));

function namedFiles(): readonly string[] {
  const prose = text.replace(section('Packages'), (part) => part.replace(/^\|.*$/gm, ''));
  const paths = matches(prose, /`([\w@.-]+(?:\/[\w@.-]+)+\/?)`/g).map((match) => group(match, 1));
  return paths.filter((path) => !path.startsWith('@kapstan/') && (/\.\w+$/.test(path) || path.endsWith('/')));
}

function namedTests(): readonly NamedTest[] {
  return section('Invariants')
    .split(/^- (?=\*\*I)/m)
    .slice(1)
    .flatMap((item) => {
      const invariant = /^\*\*(I\d+)\*\*/.exec(item)?.[1] ?? '';
      return matches(item, /^ {2}`(\S+\.ts)`: "(.+)"\.$/gm).map((match) => ({
        invariant,
        file: group(match, 1),
        name: group(match, 2),
      }));
    });
}

describe('ARCHITECTURE.md', () => {
  it('is read by these tests', () => {
    expect(namedFiles().length).toBeGreaterThan(30);
  });

  it.each([...new Set(namedFiles())])('names a file that exists: %s', (path) => {
    expect(isThere(path)).toBe(true);
  });

  it('has a test for each invariant', () => {
    const numbers = Array.from({ length: 11 }, (_, index) => `I${index + 1}`);
    expect([...new Set(namedTests().map((test) => test.invariant))]).toEqual(numbers);
  });

  it.each(namedTests())('$invariant: "$name" is a test', ({ file, name }) => {
    const quoted = name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
    expect(read(file)).toMatch(
      new RegExp(`\\b(?:it|test)\\b.*['"\`]${quoted}['"\`]|^\\s*['"\`]${quoted}['"\`],$`, 'm'),
    );
  });

  it('has the packages and imports of architecture/layers.json', () => {
    const { packages } = JSON.parse(read('architecture/layers.json')) as LayerTable;
    const rows = Object.entries(packages).map(([name, { mayImport, mayImportFrom = {} }]) => {
      const places = Object.entries(mayImportFrom).map(([file, more]) => `; ${more.join(', ')} in \`${file}\``);
      return [`\`${name}\``, (mayImport.join(', ') || 'nothing') + places.join('')];
    });
    expect(rowsOf('Packages')).toEqual(rows);
  });

  it('states the invariant and the boundary of each package', () => {
    const { packages } = JSON.parse(read('architecture/layers.json')) as LayerTable;
    for (const name of Object.keys(packages)) {
      const paragraph = section('Packages')
        .split('\n\n')
        .find((part) => part.startsWith(`**${name}**`));
      expect(paragraph, name).toMatch(/\*Invariant:\*[\s\S]*\*Boundary:\*/);
    }
  });

  it('fits into 300 lines', () => {
    expect(text.split('\n').length).toBeLessThanOrEqual(300);
  });
});

describe('README.md', () => {
  it('shows the first controller and its main as they are', () => {
    const snippets = matches(read('README.md'), /```ts\n([\s\S]*?)```/g).map((match) => group(match, 1));
    expect(snippets).toEqual(['shout.ts', 'main.ts'].map((file) => read(`examples/first-controller/src/${file}`)));
  });
});
