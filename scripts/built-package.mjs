// Checks that the dist of a package is complete and made from its present sources. As `prepack` of each package, run in its folder, it
// refuses to pack anything else. Contents are compared, since a checkout or a build cache changes file times.
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

/** File in which the compiler notes its last run, with a hash of each source. */
export const noteOfTsc = 'dist/.tsbuildinfo';
/** A copy of it from the time when the modules of the package were joined. */
export const noteOfJoin = 'dist/joined.tsbuildinfo';

const readJson = (file) => JSON.parse(readFileSync(file, 'utf8'));
const hashOf = (file) => createHash('sha256').update(readFileSync(file)).digest('hex');

/** Returns the sources of a package that differ from those that its dist was made from; its folder of sources when there is no dist. */
export function staleSources(folder) {
  const dist = join(folder, 'dist');
  const infoFile = join(folder, noteOfTsc);
  if (!existsSync(infoFile)) return [join(folder, 'src')];
  const { fileNames, fileInfos } = readJson(infoFile);
  const built = new Map();
  for (const [index, name] of fileNames.entries()) {
    const info = fileInfos[index];
    if (info !== undefined) built.set(resolve(dist, name), typeof info === 'string' ? info : info.version);
  }
  const config = join(folder, 'tsconfig.json');
  const { exclude = [] } = existsSync(config) ? readJson(config) : {};
  const isBuilt = (name) => !(name.startsWith('testing/') && exclude.includes('src/testing/**'));
  return readdirSync(join(folder, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts') && isBuilt(name))
    .map((name) => join(folder, 'src', name))
    .filter((file) => built.get(file) !== hashOf(file));
}

/** Returns true for packages whose build joins their modules (join-modules.mjs). */
export function joinsModules(folder) {
  const manifest = join(folder, 'package.json');
  // Another branch may have left the dist of a package that this one lacks.
  return existsSync(manifest) && readJson(manifest).scripts?.build?.includes('join-modules.mjs') === true;
}

/** Returns true when the package was compiled after its modules were joined: the code in dist is that of older sources then. */
export function isJoinStale(folder) {
  const [compiled, joined] = [noteOfTsc, noteOfJoin].map((note) => join(folder, note));
  return existsSync(compiled) && joinsModules(folder) && !(existsSync(joined) && sameText(compiled, joined));
}

const sameText = (one, other) => readFileSync(one).equals(readFileSync(other));

/** Returns the files in dist that the manifest names and that are not there. */
export function missingFiles(folder) {
  const { exports = {} } = readJson(join(folder, 'package.json'));
  return [...targetsOf(exports)].filter((file) => file.startsWith('./dist/') && !existsSync(join(folder, file)));
}

function* targetsOf(entry) {
  if (typeof entry === 'string') yield entry;
  else for (const inner of Object.values(entry ?? {})) yield* targetsOf(inner);
}

/** Returns the reason why a package cannot be packed; undefined = it can. */
export function packFault(folder) {
  const { name } = readJson(join(folder, 'package.json'));
  const mend = 'run "npm run build" in the root first';
  const missing = missingFiles(folder);
  if (missing.length > 0) return `${name} is not built, it would be packed without ${missing.join(', ')}; ${mend}`;
  const stale = staleSources(folder);
  if (stale.length === 0)
    return isJoinStale(folder) ? `${name} was compiled after its modules were joined; ${mend}` : undefined;
  const some = stale.slice(0, 3).join(', ');
  return `dist of ${name} was not built from the present ${some}${stale.length > 3 ? ', …' : ''}; ${mend}`;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const fault = packFault(process.cwd());
  if (fault !== undefined) {
    console.error(fault);
    process.exitCode = 1;
  }
}
