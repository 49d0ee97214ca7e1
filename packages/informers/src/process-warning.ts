// The last place for trouble that nobody else takes: a warning of the process. Used where a user's callback is absent or throws.
import process from 'node:process';

export function emitProcessWarning(error: unknown): void {
  process.emitWarning(error instanceof Error ? error : String(error));
}
