// Files that only their owner may read: private keys, kubeconfigs, the ready file with its token.
import { chmod, rename, writeFile } from 'node:fs/promises';

/** Writes a file with mode 0600, whole or not at all. */
export async function writePrivateFile(file: string, text: string): Promise<void> {
  const temporary = `${file}.${process.pid}.tmp`;
  await writeFile(temporary, text, { mode: 0o600 });
  // The mode of writeFile is subject to the umask and to a file that is there already.
  await chmod(temporary, 0o600);
  await rename(temporary, file);
}
