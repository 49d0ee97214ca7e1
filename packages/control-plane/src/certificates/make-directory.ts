// makeDirectory creates a directory and its parents. Used for output paths of the command.
import { mkdir } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';

/**
 * Creates missing directories with mode 0700, one level at a time: Node's own `recursive` never ends where a file system cannot hold
 * directories, as below /proc.
 */
export async function makeDirectory(path: string): Promise<void> {
  const directory = resolve(path);
  const error = await attempt(directory);
  if (error?.code !== 'ENOENT') {
    // EEXIST is also reported for a file; opening something inside it fails later with a clear error.
    if (error !== undefined && error.code !== 'EEXIST') throw error;
    return;
  }
  const parent = dirname(directory);
  if (parent === directory) throw error;
  await makeDirectory(parent);
  const again = await attempt(directory);
  if (again !== undefined && again.code !== 'EEXIST') throw again;
}

function attempt(directory: string): Promise<NodeJS.ErrnoException | undefined> {
  return mkdir(directory, { mode: 0o700 }).then(
    () => undefined,
    (error: NodeJS.ErrnoException) => error,
  );
}
