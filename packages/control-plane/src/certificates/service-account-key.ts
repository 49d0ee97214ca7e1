// The key that signs service account tokens, kept in <data-dir>/pki/sa.key so that tokens outlive a restart.
// Used by control-plane.ts.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { generateSigningKey } from '@kapstan/kubernetes';
import { checkPrivateKey } from './key-pair.ts';
import { makeDirectory } from './make-directory.ts';
import { writePrivateFile } from './private-file.ts';

/** Reads the key (PEM), or creates one with mode 0600. Rejects when the file cannot be read or written. */
export async function ensureServiceAccountKey(directory: string): Promise<string> {
  const file = join(directory, 'sa.key');
  const present = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
  });
  if (present !== undefined) {
    checkPrivateKey(present, file);
    return present;
  }
  const key = generateSigningKey();
  await makeDirectory(directory);
  await writePrivateFile(file, key);
  return key;
}
