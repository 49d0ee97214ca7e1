// Calls of what the user gave: a failure is told to the logger and touches nothing else. Used where a request has been answered.

import type { Logger } from '@kapstan/api';
import { guardedCall } from '@kapstan/api/internal';
import { processLogger } from './process-logger.ts';

/** Never throws. What the callback throws, or rejects with if it is async after all, is logged under its name. */
export function callUser(logger: Logger, name: string, callback: () => unknown): void {
  guardedCall(callback, (error) => tell(logger, `${name} failed`, error));
}

/** The logger is the user's too. */
function tell(logger: Logger, message: string, error: unknown): void {
  try {
    logger.error(message, { error });
  } catch (thrown) {
    processLogger.error(message, { error, logger: thrown });
  }
}
