// Reads the file of --admission-control-config-file and the files that it names. Used by serve.ts. Source: apiserver
// pkg/admission/config.go.
import { dirname, resolve } from 'node:path';
import { type PluginConfiguration, parseAdmissionConfiguration } from '@kapstan/apiserver';
import { maxConfigurationBytes, readLimitedFile } from '../followed-file/limited-file.ts';
import { startingWith } from '../lifetime/start-error.ts';

const flag = '--admission-control-config-file';

/** Returns the configurations of plug-ins by name. Rejects with a StartError that names the flag. */
export async function admissionConfigurations(file: string): Promise<Readonly<Record<string, string>> | undefined> {
  if (file === '') return undefined;
  return startingWith(flag, async () => {
    const entries = parseAdmissionConfiguration(await readLimitedFile(file, maxConfigurationBytes));
    const directory = dirname(resolve(file));
    return Object.fromEntries(await Promise.all(entries.map((entry) => readEntry(entry, directory))));
  });
}

async function readEntry({ name, text, path }: PluginConfiguration, directory: string): Promise<[string, string]> {
  if (text !== undefined || path === undefined) return [name, text ?? ''];
  try {
    return [name, await readLimitedFile(resolve(directory, path), maxConfigurationBytes)];
  } catch (error) {
    throw new Error(`the configuration of admission plugin ${JSON.stringify(name)}: ${(error as Error).message}`, {
      cause: error,
    });
  }
}
