// Which file bin/kapstan.js runs: the command in a few large files (scripts/bundle-command.mjs) or as the compiler wrote it.
import { existsSync, readdirSync, statSync } from 'node:fs';

/**
 * The bundle loads in half the time. It is passed over where a package was compiled after it was made: who works on the
 * sources and builds by `tsc -b` alone runs what was written. An installed package has nothing that could be newer.
 */
export function commandFile(controlPlane: URL): URL {
  const bundle = new URL('dist/bundled/command.js', controlPlane);
  const bundledMs = modifiedMs(bundle);
  const packages = new URL('../', controlPlane);
  const isCurrent =
    bundledMs !== undefined &&
    readdirSync(packages).every((name) => {
      const compiledMs = modifiedMs(new URL(`${name}/dist/.tsbuildinfo`, packages));
      return compiledMs === undefined || compiledMs <= bundledMs;
    });
  return isCurrent ? bundle : new URL('dist/command.js', controlPlane);
}

function modifiedMs(file: URL): number | undefined {
  return existsSync(file) ? statSync(file).mtimeMs : undefined;
}
