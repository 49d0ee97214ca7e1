// Marks a store that is being made, called by lmdb-engine.ts. A loss of power while LMDB writes the first pages can leave
// a data file that no program can read. The mark tells that nothing in it was acknowledged, so it is made anew.
import { closeSync, existsSync, openSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { dataFileName, syncDirectory } from './environment.ts';

const markName = 'new-store.tmp';

/**
 * Returns true when the directory has no store yet. The mark is then on disk, until {@link endNewStore}. Removes what an
 * attempt left that was cut short. The directory must be locked.
 */
export function beginNewStore(dataDir: string): boolean {
  const dataFile = join(dataDir, dataFileName);
  const mark = join(dataDir, markName);
  if (existsSync(mark)) rmSync(dataFile, { force: true });
  if ((statSync(dataFile, { throwIfNoEntry: false })?.size ?? 0) > 0) return false;
  closeSync(openSync(mark, 'w', 0o600));
  syncDirectory(dataDir);
  return true;
}

/** Removes the mark, durably: were it to come back, the next start would remove the store. Call it before any commit. */
export function endNewStore(dataDir: string): void {
  rmSync(join(dataDir, markName), { force: true });
  syncDirectory(dataDir);
}

/** Removes what was made so far, after the environment was closed. */
export function abandonNewStore(dataDir: string): void {
  rmSync(join(dataDir, dataFileName), { force: true });
  rmSync(join(dataDir, markName), { force: true });
}
