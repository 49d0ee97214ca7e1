// projectFiles: the files of a new project, made from the template next to the sources. The template is itself a project, which this
// repository checks as one. Used by create-project.ts.
import { readdir, readFile } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ownVersion } from './own-version.ts';
import type { ResolvedOptions } from './project-options.ts';
import { withWords } from './template-words.ts';

const template = fileURLToPath(new URL('../template', import.meta.url));

interface TemplatePackage {
  scripts: Record<string, string>;
  dependencies: Record<string, string>;
  devDependencies: Record<string, string>;
}

/** Returns text by path, with "/" between names. `vendored` are dependencies that replace those from the registry. */
export async function projectFiles(
  options: ResolvedOptions,
  vendored: ReadonlyMap<string, string> | undefined,
): Promise<ReadonlyMap<string, string>> {
  const files = new Map<string, string>();
  const version = await ownVersion();
  for (const path of await templatePaths()) {
    if (path === 'tsconfig.test.json' && options.test === 'vitest') continue;
    const text = await readFile(join(template, path), 'utf8');
    files.set(nameOf(path), textOf(path, withWords(text, options), { options, vendored, version }));
  }
  return files;
}

async function templatePaths(): Promise<readonly string[]> {
  const entries = await readdir(template, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(template, join(entry.parentPath, entry.name)).replaceAll(sep, '/'))
    .filter((path) => !/^(node_modules|dist|config|vendor)\//.test(path))
    .sort();
}

/** npm packs no file of the name .gitignore. */
const nameOf = (path: string): string => (path === 'gitignore' ? '.gitignore' : path);

interface Choices {
  /** Version of all packages of Kapstan. */
  readonly version: string;
  readonly options: ResolvedOptions;
  readonly vendored: ReadonlyMap<string, string> | undefined;
}

function textOf(path: string, text: string, choices: Choices): string {
  if (path === 'package.json') return packageText(JSON.parse(text) as TemplatePackage, choices);
  if (path === 'Dockerfile' && choices.vendored === undefined) return text.replace('COPY vendor ./vendor\n', '');
  if (path === '.dockerignore' && choices.vendored === undefined) return text.replace('!vendor\n', '');
  if (path.startsWith('test/') && choices.options.test === 'node')
    return text.replace("import { test } from 'vitest';", "import { test } from 'node:test';");
  return text;
}

function packageText(manifest: TemplatePackage, { options, vendored, version }: Choices): string {
  const { scripts, dependencies, devDependencies } = manifest;
  if (options.test === 'node') {
    // Node finds the tests below the directory in which it starts.
    scripts.test = 'tsc -p tsconfig.test.json && cd .test && node --enable-source-maps --test';
    delete devDependencies.vitest;
  }
  for (const list of [dependencies, devDependencies])
    for (const name of Object.keys(list)) if (name.startsWith('@kapstan/')) list[name] = version;
  for (const [name, source] of vendored ?? []) {
    const list = name in dependencies ? dependencies : devDependencies;
    list[name] = source;
  }
  manifest.devDependencies = Object.fromEntries(Object.entries(devDependencies).sort(([a], [b]) => (a < b ? -1 : 1)));
  return `${JSON.stringify(manifest, null, 2)}\n`;
}
