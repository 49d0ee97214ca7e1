// Writes files that only their owner may read: private keys, kubeconfigs, the ready file with its token.
import { chmod, rename, rm, writeFile } from 'node:fs/promises';

/** Writes a file with mode 0600, either whole or not at all, even when the machine stops midway. Leaves no temporary file behind. */
export async function writePrivateFile(file: string, text: string): Promise<void> {
  const temporary = `${file}.${process.pid}.tmp`;
  // Removes the leftover of a killed process with the same id: containers reuse ids.
  await rm(temporary, { force: true });
  try {
    // The flag wx makes the call fail unless the file is new, so that its mode is ours and not that of a file made by
    // somebody else.
    await writeFile(temporary, text, { mode: 0o600, flag: 'wx', flush: true });
    // The umask limits the mode that writeFile sets.
    await chmod(temporary, 0o600);
    await rename(temporary, file);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}
