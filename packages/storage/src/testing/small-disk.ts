// A real file system without room, for tests of full disks: a tmpfs of a few MiB, which only root may mount.
import { execFileSync } from 'node:child_process';
import { closeSync, openSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';

/** Mounts such a file system on an existing folder. Returns undefined, or the reason why it cannot be mounted. */
export function mountSmallDisk(folder: string, mebibytes: number): string | undefined {
  if (process.getuid?.() !== 0) return 'only root may mount a tmpfs; run the tests as root';
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${mebibytes}m`, 'none', folder], { stdio: 'pipe' });
    return undefined;
  } catch (error) {
    return `no tmpfs can be mounted here: ${(error as Error).message}`;
  }
}

export function unmountSmallDisk(folder: string): void {
  execFileSync('umount', [folder]);
}

/** Fills the disk except for this many bytes (default 0), until {@link makeRoom}. */
export function fillDisk(folder: string, exceptBytes = 0): void {
  const spare = join(folder, 'spare');
  writeFileSync(spare, Buffer.alloc(exceptBytes));
  const descriptor = openSync(join(folder, ballast), 'w');
  try {
    for (;;) writeSync(descriptor, Buffer.alloc(4096));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
  } finally {
    closeSync(descriptor);
    rmSync(spare);
  }
}

export function makeRoom(folder: string): void {
  rmSync(join(folder, ballast));
}

const ballast = 'ballast';
