// Whether a write failed because the file system has no room. Used by committer.ts and environment.ts.
import { statfsSync } from 'node:fs';
import { constants } from 'node:os';

const { EIO, ENOSPC, EDQUOT } = constants.errno;
const noRoomTexts = ['No space left on device', 'Disk quota exceeded'];
/** Room that a transaction may need beside its rows: copies of the pages above them. */
const treeBytes = 1_048_576;

/**
 * LMDB says "no space" only when not one byte of a page could be written; a write that came up short is an I/O error there.
 * That one is believed to be for want of room when the file system has less than the transaction needs. Never throws.
 */
export function isOutOfSpace(error: unknown, directory: string, bytes: number): boolean {
  const { code, message } = Object(error) as { readonly code?: unknown; readonly message?: unknown };
  // Numbers are LMDB's, names Node's.
  if (code === ENOSPC || code === EDQUOT || code === 'ENOSPC' || code === 'EDQUOT') return true;
  // Of a copy that failed lmdb-js tells the C library's text alone.
  if (code === undefined && noRoomTexts.includes(String(message))) return true;
  return code === EIO && freeBytes(directory) < bytes + treeBytes;
}

/** Infinity when the file system does not say: then the disk itself is what failed. */
export function freeBytes(directory: string): number {
  try {
    const { bavail, bsize } = statfsSync(directory);
    return bavail * bsize;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
