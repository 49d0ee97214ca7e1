// The last place for trouble that nobody else takes: the logger, else a warning of the process. Used where a user's callback is
// absent or throws.
import process from 'node:process';
import type { Logger } from '@kapstan/api';

export function emitProcessWarning(error: unknown): void {
  process.emitWarning(error instanceof Error ? error : String(error));
}

/** Tells the logger, and the process where there is none or it throws. */
export function warningTo(logger: Logger | undefined): (error: unknown) => void {
  if (logger === undefined) return emitProcessWarning;
  return (error) => {
    try {
      if (error instanceof Error) logger.warn(error.message, { error });
      else logger.warn(String(error));
    } catch (thrown) {
      emitProcessWarning(error);
      emitProcessWarning(thrown);
    }
  };
}
