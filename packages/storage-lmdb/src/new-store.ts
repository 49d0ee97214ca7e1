// Marks a store that is being made, called by lmdb-engine.ts. A loss of power while LMDB writes the first pages can leave an unreadable
// data file. The mark shows that nothing in it was acknowledged, so the store is made again.
import { closeSync, existsSync, openSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { dataFileName, syncDirectory } from './environment.ts';

const markName = 'new-store.tmp';

/**
 * Returns true when the directory has no store yet. The mark is then on disk, until {@link endNewStore}. Removes the leftovers of an
 * interrupted attempt. The directory must be locked.
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

/**
 * Removes the mark, durably, because the next start would remove the store if the mark came back. Call it before any commit.
 */
export function endNewStore(dataDir: string): void {
  rmSync(join(dataDir, markName), { force: true });
  syncDirectory(dataDir);
}

/** Removes the store that is being made, after the environment was closed. */
export function abandonNewStore(dataDir: string): void {
  rmSync(join(dataDir, dataFileName), { force: true });
  rmSync(join(dataDir, markName), { force: true });
}
