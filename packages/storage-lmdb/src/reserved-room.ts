// The room on disk that LMDB takes for granted when it opens: its lock file is a mapping, so a page of it that the file system
// cannot give kills the process (SIGBUS), and lmdb-js frees memory twice when a new store finds no room. Used by environment.ts.
import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  openSync,
  readSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';

const lockFileName = 'lock.mdb';
/** LMDB makes it 8272 bytes long for its 126 readers, and takes a longer one as it is. */
const lockFileBytes = 12_288;
const blockBytes = 512;
const roomFileName = 'room.tmp';
/** A new store takes 24 KiB; one that has not even room for some objects is no use. */
const newStoreBytes = 262_144;
/** Below this size a data file has not got its tables and its format yet. */
const wholeStoreBytes = 24_576;

/** Throws what the file system says, ENOSPC most of all. The directory must be locked: nobody else may have its store open. */
export function reserveRoom(
  dataDir: string,
  options: { readonly dataFile: string; readonly isFlushed: boolean },
): void {
  const { dataFile, isFlushed } = options;
  if (sizeOf(join(dataDir, dataFile)) < wholeStoreBytes) requireRoom(join(dataDir, roomFileName), isFlushed);
  fillLockFile(join(dataDir, lockFileName), isFlushed);
}

/** Writes rather than asks: a quota of the file system shows up in no other way. */
function requireRoom(path: string, isFlushed: boolean): void {
  try {
    const descriptor = openSync(path, 'w', 0o600);
    try {
      writeFileSync(descriptor, Buffer.alloc(newStoreBytes));
      // Some file systems find out only then that there is no room.
      if (isFlushed) fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
  } finally {
    rmSync(path, { force: true });
  }
}

/** Gives every page of the lock file its place on disk, with what stands in it. */
function fillLockFile(path: string, isFlushed: boolean): void {
  const isNew = sizeOf(path) === 0;
  const descriptor = openSync(path, constants.O_RDWR | constants.O_CREAT, 0o600);
  try {
    const { size, blocks } = fstatSync(descriptor);
    if (size >= lockFileBytes && blocks * blockBytes >= size) return;
    const content = Buffer.alloc(Math.max(size, lockFileBytes));
    readSync(descriptor, content, 0, size, 0);
    writeFileSync(descriptor, content);
    if (isFlushed) fsyncSync(descriptor);
  } catch (error) {
    if (isNew) rmSync(path, { force: true });
    throw error;
  } finally {
    closeSync(descriptor);
  }
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}
