// Reserves the room on disk that LMDB assumes when it opens. Its lock file is memory-mapped, so a page that the file
// system cannot provide kills the process (SIGBUS), and lmdb-js frees memory twice when a new store finds no room. Used
// by environment.ts.
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
/** LMDB makes it 8272 bytes long for its 126 readers, and accepts a longer one. */
const lockFileBytes = 12_288;
const blockBytes = 512;
const roomFileName = 'room.tmp';
/** A new store takes 24 KiB; a store without room for some objects would be useless. */
const newStoreBytes = 262_144;
/** A smaller data file does not have its tables and format yet. */
const wholeStoreBytes = 24_576;

/**
 * Throws the file system's error, usually ENOSPC. The directory must be locked, so that no other process has its store
 * open.
 */
export function reserveRoom(
  dataDir: string,
  options: { readonly dataFile: string; readonly isFlushed: boolean },
): void {
  const { dataFile, isFlushed } = options;
  if (sizeOf(join(dataDir, dataFile)) < wholeStoreBytes) requireRoom(join(dataDir, roomFileName), isFlushed);
  fillLockFile(join(dataDir, lockFileName), isFlushed);
}

/** Writes a file to see whether there is room, because a quota of the file system shows in no other way. */
function requireRoom(path: string, isFlushed: boolean): void {
  try {
    const descriptor = openSync(path, 'w', 0o600);
    try {
      writeFileSync(descriptor, Buffer.alloc(newStoreBytes));
      // Some file systems notice only at this point that they are full.
      if (isFlushed) fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
  } finally {
    rmSync(path, { force: true });
  }
}

/** Allocates every page of the lock file on disk and keeps its content. */
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
