// createProject writes the files of a new project. It starts nothing; command.ts installs the dependencies.
import { constants, copyFile, mkdir, readdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { packedPackages, vendoredCopies, vendoredDependencies } from './packed-packages.ts';
import { projectFiles } from './project-files.ts';
import { ProjectError, type ProjectOptions, resolveOptions } from './project-options.ts';

/** The project that createProject() has made. */
export interface CreatedProject {
  readonly directory: string;
  /** Paths in it, sorted. */
  readonly files: readonly string[];
}

/** Rejects with ProjectError before anything is written for wrong options, and for a directory that is not empty. */
export async function createProject(parent: string, options: ProjectOptions): Promise<CreatedProject> {
  const resolved = resolveOptions(options);
  const directory = join(parent, resolved.name);
  const packed = resolved.packages === undefined ? undefined : await packedPackages(resolved.packages);
  const files = await projectFiles(resolved, packed && vendoredDependencies(packed));
  const copies = packed === undefined ? new Map<string, string>() : vendoredCopies(packed);
  await requireEmpty(directory, resolved);
  // A file that somebody has meanwhile created there is not replaced.
  const [flag, mode] = resolved.force ? ['w', 0] : ['wx', constants.COPYFILE_EXCL];
  for (const path of [...files.keys(), ...copies.keys()])
    await mkdir(join(directory, dirname(path)), { recursive: true });
  for (const [path, text] of files) await writeFile(join(directory, path), text, { flag });
  for (const [path, source] of copies) await copyFile(source, join(directory, path), mode);
  return { directory, files: [...files.keys(), ...copies.keys()].sort() };
}

async function requireEmpty(directory: string, { name, force }: { readonly name: string; readonly force: boolean }) {
  const found = await namesIn(directory, name);
  if (found.length === 0 || force) return;
  throw new ProjectError(
    `the directory ${name} exists and is not empty; choose another name, or --force to replace files of the same name`,
  );
}

async function namesIn(directory: string, name: string): Promise<readonly string[]> {
  try {
    return await readdir(directory);
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === 'ENOENT') return [];
    throw new ProjectError(
      code === 'ENOTDIR' ? `${name} exists and is not a directory` : `cannot read ${name}: ${code}`,
      {
        cause,
      },
    );
  }
}
