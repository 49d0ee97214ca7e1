// The flag of request tracing. Part of serve-flags.ts. Source: server/options/tracing.go, from which the texts are
// taken.
import { existsSync } from 'node:fs';
import { maxConfigurationBytes, readLimitedFile } from '../followed-file/limited-file.ts';
import { startingWith } from '../lifetime/start-error.ts';
import type { FeatureGates } from './feature-gates.ts';
import { type Flag, stringFlag } from './flag-set.ts';

export interface TracingFlags {
  readonly 'tracing-config-file': string;
}

export const tracingFlags: { readonly [K in keyof TracingFlags]: Flag<TracingFlags[K]> } = {
  'tracing-config-file': stringFlag(
    'Path to a TracingConfiguration file, which sets the collector that traces of requests are sent to, and how many requests are traced.',
  ),
};

export function tracingFlagErrors({ 'tracing-config-file': file }: TracingFlags): readonly string[] {
  return file === '' || existsSync(file) ? [] : [`tracing-config-file ${file} does not exist`];
}

/** Returns the text of the file; undefined = nothing is traced. */
export async function tracingConfiguration(
  flags: TracingFlags & { readonly 'feature-gates': FeatureGates },
): Promise<string | undefined> {
  const { 'tracing-config-file': file, 'feature-gates': gates } = flags;
  if (file === '') return undefined;
  return startingWith('--tracing-config-file', () => {
    if (!gates.APIServerTracing)
      throw new Error('APIServerTracing feature is not enabled, but tracing config file was provided');
    return readLimitedFile(file, maxConfigurationBytes);
  });
}
