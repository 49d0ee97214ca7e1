// Checks that dist was built from the present sources, for tests whose child processes run dist. Without a build after
// an edit, they would test the old code.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isJoinStale, staleSources } from '../../scripts/built-package.mjs';

const packages = fileURLToPath(new URL('../../packages', import.meta.url));

/** Throws, with the files that differ, when a package is not built from its present sources. */
export function requireBuilt(names: readonly string[], root: string = packages): void {
  const stale = names.flatMap((name) => staleSources(join(root, name)));
  if (stale.length === 0) return requireJoined(root);
  const some = stale.slice(0, 5).join(', ');
  throw new Error(
    `dist was not built from the present sources of ${some}${stale.length > 5 ? ', …' : ''}; run: npx tsc -b && npm run join`,
  );
}

/** Throws, with its name, when a package was compiled after its modules were joined: tsc alone leaves the old code in dist. */
export function requireJoined(root: string = packages): void {
  const stale = readdirSync(root).filter((name) => isJoinStale(join(root, name)));
  if (stale.length > 0)
    throw new Error(`${stale.join(', ')}: compiled after the modules were joined; run: npm run join`);
}
