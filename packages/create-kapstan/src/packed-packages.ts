// PackedPackages: the archives of `npm pack` in a directory, for projects that cannot install the packages from a registry. The project
// gets copies, so that it can be built elsewhere, for example in an image. Used by create-project.ts.
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { ProjectError } from './project-options.ts';

export interface PackedPackages {
  /** File names in the directory by the names of the packages. */
  readonly files: ReadonlyMap<string, string>;
  readonly directory: string;
}

/** Packages that the project names. They depend on others, so all archives of the directory are copied. */
const needed = ['api', 'controller', 'kinds', 'control-plane', 'testing'].map((name) => `@kapstan/${name}`);

/** Rejects with ProjectError for a directory without the packages, and with two versions of one. */
export async function packedPackages(directory: string): Promise<PackedPackages> {
  const files = new Map<string, string>();
  for (const file of (await namesIn(directory)).sort()) {
    const name = packageOf(file);
    if (name === undefined) continue;
    const before = files.get(name);
    if (before !== undefined)
      throw new ProjectError(`${directory} has two archives of ${name}: ${before} and ${file}; delete one of them`);
    files.set(name, file);
  }
  const missing = needed.filter((name) => !files.has(name));
  if (missing.length > 0)
    throw new ProjectError(
      `${directory} has no archive of ${missing.join(', ')}; make them in a clone of Kapstan with "npm pack -w packages --pack-destination ${directory}"`,
    );
  return { files, directory };
}

async function namesIn(directory: string): Promise<string[]> {
  try {
    return await readdir(directory);
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    throw new ProjectError(`cannot read the directory of packages ${directory}: ${code}`, { cause });
  }
}

/** Returns the package that a file holds: "kapstan-api-0.1.0.tgz" → "@kapstan/api". */
function packageOf(file: string): string | undefined {
  const [, prefix, name] = /^(kapstan-|(?=create-kapstan-))([a-z-]+)-\d+\.\d+\.\d+[-+.\w]*\.tgz$/.exec(file) ?? [];
  if (name === undefined) return undefined;
  return prefix === '' ? name : `@kapstan/${name}`;
}

/** Returns the dependency on each package: a path in the project. */
export function vendoredDependencies({ files }: PackedPackages): ReadonlyMap<string, string> {
  return new Map([...files].map(([name, file]) => [name, `file:${vendoredPath(file)}`]));
}

/** Returns the copies to make: path in the project → file. */
export function vendoredCopies({ files, directory }: PackedPackages): ReadonlyMap<string, string> {
  return new Map([...files.values()].map((file) => [vendoredPath(file), join(directory, file)]));
}

const vendoredPath = (file: string): string => `vendor/${file}`;
