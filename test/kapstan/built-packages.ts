// Whether what is built is what the sources say, for tests whose child processes run dist: a run after an edit without a build
// would pass on the old code. By content, which a checkout or a cache of builds does not change as it does times.
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const packages = fileURLToPath(new URL('../../packages', import.meta.url));

interface BuildInfo {
  readonly fileNames: readonly string[];
  readonly fileInfos: readonly (string | { readonly version: string })[];
}

/** Throws with the files that differ when a package is not built, or not since its sources changed. */
export function requireBuilt(names: readonly string[], root: string = packages): void {
  const stale = names.flatMap((name) => staleSources(join(root, name)));
  if (stale.length === 0) return;
  const some = stale.slice(0, 5).join(', ');
  throw new Error(`dist is not what these sources make: ${some}${stale.length > 5 ? ', …' : ''}; run: npx tsc -b`);
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
  return readdirSync(join(folder, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
    .map((name) => join(folder, 'src', name))
    .filter((file) => built.get(file) !== createHash('sha256').update(readFileSync(file)).digest('hex'));
}
