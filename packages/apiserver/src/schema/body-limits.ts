// How much one body may hold, whatever its format. A body of 3 MiB has room for 1,500,000 values of two bytes, and each stage of a write
// would visit all of them. Decision 0045.
import { requestEntityTooLarge } from '@kapstan/api/errors';
import { JsonLimitError, type JsonLimits } from '@kapstan/api/internal';

export const bodyLimits: JsonLimits = { maxValues: 500_000, maxMembers: 100_000 };

/** Returns 413 where a body holds more than the limits allow; any other error is returned as it is. */
export function bodyError(error: unknown): unknown {
  return error instanceof JsonLimitError ? requestEntityTooLarge(`the body holds ${error.message}`) : error;
}

/** Throws 413 for an object that a change has given too many members. */
export function limitMembers(count: number): void {
  if (count > bodyLimits.maxMembers)
    throw requestEntityTooLarge(`the result holds an object with more than ${bodyLimits.maxMembers} members`);
}
