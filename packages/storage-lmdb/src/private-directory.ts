// Who may read a store: Secrets lie in it in plain text. Used by lmdb-engine.ts and store-restore.ts before LMDB opens.
import { chmodSync, existsSync, mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Logger } from '@kapstan/api';
import { dataFileName } from './environment.ts';

const groupAndOthers = 0o077;

/**
 * Makes the directory with mode 0700. One that exists and is open to others is kept as it is, with a warning, as etcd does: its
 * mode may be what a volume needs. The store's own files are for their owner alone in any case.
 */
export function ensurePrivateDirectory(directory: string, logger: Logger): void {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  // There the mode says nothing about who may read.
  if (process.platform === 'win32') return;
  const mode = statSync(directory).mode & 0o777;
  if ((mode & groupAndOthers) !== 0) {
    const fields = { directory, mode: `0${mode.toString(8)}`, recommended: '0700' };
    logger.warn('the data directory is open to other users of this machine', fields);
  }
  for (const name of [dataFileName, 'lock.mdb']) makePrivate(join(directory, name));
}

/** Takes a file of the store away from other users, if it exists. */
export function makePrivate(file: string): void {
  if (existsSync(file) && (statSync(file).mode & groupAndOthers) !== 0) chmodSync(file, 0o600);
}
