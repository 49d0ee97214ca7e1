// guardedLogger wraps the user's logger, so that its failure costs neither a worker nor the leadership nor an Event.
import type { LogFields, Logger } from '@kapstan/api';
import { guardedCall } from '@kapstan/api/internal';

/** Never throws. Errors that the logger throws or, if async, rejects with become warnings of the process. */
export function guardedLogger(logger: Logger): Logger {
  const guarded =
    (level: keyof Logger) =>
    (...line: [message: string, fields?: LogFields]): void =>
      guardedCall(() => logger[level](...line), emitThrown);
  return { debug: guarded('debug'), info: guarded('info'), warn: guarded('warn'), error: guarded('error') };
}

/**
 * Emits an error of a user's function as a warning of the process, for cases in which the logger itself may be broken.
 */
export function emitThrown(thrown: unknown): void {
  process.emitWarning(thrown instanceof Error ? thrown : String(thrown));
}
