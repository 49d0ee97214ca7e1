// Used by the parts of this package that tests hold with `await using`.
import { messageOf } from '@kapstan/api/internal';

/**
 * Prints the error with which an `await using` ends. Test runners show little of it when the test itself has failed
 * before, and a missing right is often the cause of both.
 */
export function warnOfFailure(ended: Promise<void>): Promise<void> {
  return ended.catch((error: unknown) => {
    process.emitWarning(messageOf(error), { type: 'KapstanTestWarning' });
    throw error;
  });
}
