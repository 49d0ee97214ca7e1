// guardedLogger: the user's logger where its failure must cost neither a worker nor the leadership nor an Event. Beside
// warning-logger.ts.
import process from 'node:process';
import type { LogFields, Logger } from '@kapstan/api';
import { guardedCall } from '@kapstan/api/internal';

/** Never throws. What the logger throws, or rejects with where it is async, is a warning of the process. */
export function guardedLogger(logger: Logger): Logger {
  const guarded =
    (level: keyof Logger) =>
    (...line: [message: string, fields?: LogFields]): void =>
      guardedCall(() => logger[level](...line), emitThrown);
  return { debug: guarded('debug'), info: guarded('info'), warn: guarded('warn'), error: guarded('error') };
}

/** The last place for what a user's function throws where even the logger may be what threw. */
export function emitThrown(thrown: unknown): void {
  process.emitWarning(thrown instanceof Error ? thrown : String(thrown));
}
