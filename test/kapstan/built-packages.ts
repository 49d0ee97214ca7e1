// Checks that dist was built from the present sources, for tests whose child processes run dist: without a build after
// an edit, they would test the old code. Contents are compared, since a checkout or a build cache changes file times.
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const packages = fileURLToPath(new URL('../../packages', import.meta.url));

interface BuildInfo {
  readonly fileNames: readonly string[];
  readonly fileInfos: readonly (string | { readonly version: string })[];
}

/** Throws, with the files that differ, when a package is not built from its present sources. */
export function requireBuilt(names: readonly string[], root: string = packages): void {
  const stale = names.flatMap((name) => staleSources(join(root, name)));
  if (stale.length === 0) return;
  const some = stale.slice(0, 5).join(', ');
  throw new Error(
    `dist was not built from the present sources of ${some}${stale.length > 5 ? ', …' : ''}; run: npx tsc -b`,
  );
}

function staleSources(folder: string): readonly string[] {
  const dist = join(folder, 'dist');
  const infoFile = join(dist, '.tsbuildinfo');
  if (!existsSync(infoFile)) return [join(folder, 'src')];
  const { fileNames, fileInfos } = JSON.parse(readFileSync(infoFile, 'utf8')) as BuildInfo;
  const built = new Map<string, string>();
  for (const [index, name] of fileNames.entries()) {
    const info = fileInfos[index];
    if (info !== undefined) built.set(resolve(dist, name), typeof info === 'string' ? info : info.version);
  }
  const config = join(folder, 'tsconfig.json');
  const { exclude = [] } = (existsSync(config) ? JSON.parse(readFileSync(config, 'utf8')) : {}) as {
    exclude?: string[];
  };
  const isBuilt = (name: string): boolean => !(name.startsWith('testing/') && exclude.includes('src/testing/**'));
  return readdirSync(join(folder, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts') && isBuilt(name))
    .map((name) => join(folder, 'src', name))
    .filter((file) => built.get(file) !== createHash('sha256').update(readFileSync(file)).digest('hex'));
}
