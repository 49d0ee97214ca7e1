import { parseJsonInSlices } from '@kapstan/api/internal';
import { runInTurns } from '@kapstan/storage';

/** Parses a document of another API server, which may have some megabytes. Rejects with JsonSyntaxError. */
export async function parsedInTurns(document: Buffer): Promise<unknown> {
  return runInTurns(parseJsonInSlices(document.toString()));
}
