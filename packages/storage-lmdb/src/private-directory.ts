// Keeps other users from reading a store, which holds Secrets in plain text. Used by lmdb-engine.ts and
// store-restore.ts before LMDB opens.
import { chmodSync, existsSync, mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Logger } from '@kapstan/api';
import { dataFileName } from './environment.ts';

const groupAndOthers = 0o077;

/**
 * Creates the directory with mode 0700. An existing one that is open to others keeps its mode, with a warning, as in
 * etcd: a volume may need that mode. The store's own files are accessible only to their owner in any case.
 */
export function ensurePrivateDirectory(directory: string, logger: Logger): void {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  // On Windows the mode does not determine who may read.
  if (process.platform === 'win32') return;
  const mode = statSync(directory).mode & 0o777;
  if ((mode & groupAndOthers) !== 0) {
    const fields = { directory, mode: `0${mode.toString(8)}`, recommended: '0700' };
    logger.warn('the data directory is open to other users of this machine', fields);
  }
  for (const name of [dataFileName, 'lock.mdb']) makePrivate(join(directory, name));
}

/** Removes other users' access to a file of the store, if the file exists. */
export function makePrivate(file: string): void {
  if (existsSync(file) && (statSync(file).mode & groupAndOthers) !== 0) chmodSync(file, 0o600);
}
