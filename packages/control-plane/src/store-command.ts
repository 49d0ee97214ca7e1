// `kapstan store …`: work on a data directory or a running server.
import { UsageError } from './flag-set.ts';

/** Runs one store command. Throws UsageError for what does not exist. */
export async function store(args: readonly string[]): Promise<number> {
  throw new UsageError(`kapstan store ${args[0] ?? ''} is not supported by this version of kapstan`);
}
