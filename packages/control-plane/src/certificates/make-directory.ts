// makeDirectory: a directory with its parents. Used for what the command is told to write to.
import { mkdir } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';

/**
 * Made with mode 0700, its parents too, where they are absent. One level at a time: Node's own `recursive` goes on for ever
 * where a file system has no room for directories, as below /proc.
 */
export async function makeDirectory(path: string): Promise<void> {
  const directory = resolve(path);
  const error = await attempt(directory);
  if (error?.code !== 'ENOENT') {
    // "EEXIST" is said of files too: who opens something in them finds out.
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
