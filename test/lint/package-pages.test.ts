// Checks the READMEs against architecture/layers.json: the table of packages in README.md has each package, and the README of a package
// says what it imports and which packages import it.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

interface Layer {
  readonly mayImport: readonly string[];
  /** More imports that one file may have. */
  readonly mayImportFrom?: Readonly<Record<string, readonly string[]>>;
}

const root = fileURLToPath(new URL('../..', import.meta.url));
const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const layers = (JSON.parse(read('architecture/layers.json')) as { packages: Readonly<Record<string, Layer>> }).packages;

/** Returns the line that the README of a package must have; more may follow it. */
function importLine(name: string): string {
  const { mayImport, mayImportFrom = {} } = layers[name] as Layer;
  const places = Object.entries(mayImportFrom).map(([file, more]) => `; ${more.join(', ')} in \`${file}\``);
  const importers = Object.keys(layers).filter((other) => {
    const { mayImport: imports, mayImportFrom: inFiles = {} } = layers[other] as Layer;
    return [imports, ...Object.values(inFiles)].some((list) => list.includes(name));
  });
  const none = 'no other package';
  return `Imports: ${mayImport.join(', ') || none}${places.join('')}. Imported by: ${importers.join(', ') || none}.`;
}

describe('the README of a package', () => {
  it.each(Object.keys(layers))('says what %s imports and which packages import it', (name) => {
    expect(read(`packages/${name}/README.md`)).toContain(importLine(name));
  });
});

it('the table of README.md has every package', () => {
  const rows = [...read('README.md').matchAll(/^\| \[[^\]]+\]\(packages\/([\w-]+)\/README\.md\) \| .+ \|$/gm)];
  expect(rows.map(([, name]) => name).sort()).toEqual(Object.keys(layers).sort());
});
