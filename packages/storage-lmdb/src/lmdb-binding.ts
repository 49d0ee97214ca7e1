// Loads lmdb-js when a store is opened, not before: it has binaries for common platforms only, and a program that keeps
// its data elsewhere runs without. Used by environment.ts.
import { createRequire } from 'node:module';
import { messageOf } from '@kapstan/api/internal';
import type * as Lmdb from 'lmdb';

/** Throws an Error that explains what to do when this machine has no binary. */
export function loadLmdb(): typeof Lmdb {
  try {
    return createRequire(import.meta.url)('lmdb') as typeof Lmdb;
  } catch (error) {
    const here = `${process.platform} ${process.arch}`;
    throw new Error(
      `LMDB cannot be loaded on ${here}: ${messageOf(error)}; install lmdb with its optional dependencies, or use another engine`,
      { cause: error },
    );
  }
}

/** Returns false where LMDB has no binary for this machine. */
export function isLmdbAvailable(): boolean {
  try {
    loadLmdb();
    return true;
  } catch {
    return false;
  }
}
