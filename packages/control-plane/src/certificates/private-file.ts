// Files that only their owner may read: private keys, kubeconfigs, the ready file with its token.
import { chmod, rename, rm, writeFile } from 'node:fs/promises';

/** Writes a file with mode 0600, whole or not at all, also when the machine stops in the middle. Leaves nothing else behind. */
export async function writePrivateFile(file: string, text: string): Promise<void> {
  const temporary = `${file}.${process.pid}.tmp`;
  // Of a process with this id that was killed: containers use the same one again.
  await rm(temporary, { force: true });
  try {
    // wx: the mode is that of a new file, never of one that somebody else has made.
    await writeFile(temporary, text, { mode: 0o600, flag: 'wx', flush: true });
    // The mode of writeFile is subject to the umask.
    await chmod(temporary, 0o600);
    await rename(temporary, file);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}
