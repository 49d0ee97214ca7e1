// GeneratedFile: a file that a generator makes, before anything is written. Written or compared by `writeFiles` and `outdatedFiles`.
import { type FileHandle, mkdir, open, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';

/** A file that was made: its path in the folder of the output, and its text. */
export interface GeneratedFile {
  /** Below the output directory, with slashes. */
  readonly path: string;
  readonly text: string;
}

/**
 * Writes the files that differ, and returns their paths. Directories are made as needed. Rejects, before any write, when a path leaves the
 * directory.
 */
export async function writeFiles(files: readonly GeneratedFile[], directory: string): Promise<readonly string[]> {
  const outdated = await outdatedFiles(files, directory);
  for (const { path, text } of files.filter((file) => outdated.includes(file.path))) {
    const target = targetOf(directory, path);
    await mkdir(dirname(target), { recursive: true });
    await writeFile(target, text);
  }
  return outdated;
}

/** Returns the paths of files that are missing in the directory or have another text there. */
export async function outdatedFiles(files: readonly GeneratedFile[], directory: string): Promise<readonly string[]> {
  const outdated: string[] = [];
  for (const { path, text } of files) if ((await textOf(targetOf(directory, path))) !== text) outdated.push(path);
  return outdated;
}

async function textOf(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Throws Error for a path that is not below the directory, because names in paths may come from anywhere. */
function targetOf(directory: string, path: string): string {
  const target = resolve(directory, path);
  const below = relative(resolve(directory), target);
  if (below === '' || below === '..' || below.startsWith(`..${sep}`) || isAbsolute(below))
    throw new Error(`${JSON.stringify(path)} is not below the directory ${directory}`);
  return target;
}

/**
 * Returns the paths of files below the directory, except in hidden folders and node_modules, that were made from the
 * same source but are no longer made. Their first line, which names generator and source, shows this.
 */
export async function abandonedFiles(files: readonly GeneratedFile[], directory: string): Promise<readonly string[]> {
  const heads = new Set(files.map(({ text }) => firstLine(text)));
  const made = new Set(files.map(({ path }) => path));
  const endings = new Set(files.map(({ path }) => path.slice(path.lastIndexOf('.'))));
  const abandoned: string[] = [];
  for await (const path of pathsBelow(directory, ''))
    if (!made.has(path) && endings.has(path.slice(path.lastIndexOf('.'))))
      if (heads.has(firstLine(await beginningOf(join(directory, path))))) abandoned.push(path);
  return abandoned.sort();
}

async function* pathsBelow(directory: string, below: string): AsyncGenerator<string> {
  for (const entry of await entriesOf(join(directory, below))) {
    const path = `${below}${entry.name}`;
    if (entry.isFile()) yield path;
    else if (entry.isDirectory() && entry.name !== 'node_modules' && !entry.name.startsWith('.'))
      yield* pathsBelow(directory, `${path}/`);
  }
}

async function entriesOf(directory: string) {
  try {
    return await readdir(directory, { withFileTypes: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

/** This is longer than any first line that names a path. */
const headBytes = 8192;

async function beginningOf(file: string): Promise<string> {
  const handle: FileHandle = await open(file);
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(headBytes), 0, headBytes, 0);
    return buffer.toString('utf8', 0, bytesRead);
  } finally {
    await handle.close();
  }
}

const firstLine = (text: string): string => text.split('\n', 1)[0] ?? '';
