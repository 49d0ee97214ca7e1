// Detects that a write failed because the file system is full. Used by committer.ts and environment.ts.
import { statfsSync } from 'node:fs';
import { constants } from 'node:os';

const { EIO, ENOSPC, EDQUOT } = constants.errno;
const noRoomTexts = ['No space left on device', 'Disk quota exceeded'];
/** Room that a transaction may need besides its rows, for copies of the pages above them. */
const treeBytes = 1_048_576;

/**
 * Returns whether the file system was full. LMDB reports a page that was written in part as an I/O error, which counts
 * as a full disk when less is free than the transaction needs. Never throws.
 */
export function isOutOfSpace(error: unknown, directory: string, bytes: number): boolean {
  const { code, message } = Object(error) as { readonly code?: unknown; readonly message?: unknown };
  // Numeric codes are LMDB's, names are Node's.
  if (code === ENOSPC || code === EDQUOT || code === 'ENOSPC' || code === 'EDQUOT') return true;
  // When a copy fails, lmdb-js gives only the C library's text.
  if (code === undefined && noRoomTexts.includes(String(message))) return true;
  return code === EIO && freeBytes(directory) < bytes + treeBytes;
}

/** Returns Infinity when the file system does not answer, because then the disk itself failed. */
export function freeBytes(directory: string): number {
  try {
    const { bavail, bsize } = statfsSync(directory);
    return bavail * bsize;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
