// Calls callbacks of the user. A failure is logged and affects nothing else. Used after a request has been answered.
import type { Logger } from '@kapstan/api';
import { guardedCall } from '@kapstan/api/internal';
import { processLogger } from './process-logger.ts';

/**
 * Never throws. Errors that the callback throws, or rejects with if it is async after all, are logged under its name.
 */
export function callUser(logger: Logger, name: string, callback: () => unknown): void {
  guardedCall(callback, (error) => tell(logger, `${name} failed`, error));
}

/** Guards the logger too, because it is also the user's. */
function tell(logger: Logger, message: string, error: unknown): void {
  try {
    logger.error(message, { error });
  } catch (thrown) {
    processLogger.error(message, { error, logger: thrown });
  }
}
