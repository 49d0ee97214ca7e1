// The version of this package, which is the version of all Kapstan packages. Used by project-files.ts and command.ts.
import { readFile } from 'node:fs/promises';

export async function ownVersion(): Promise<string> {
  const text = await readFile(new URL('../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { readonly version: string }).version;
}
