// Calls users' functions so that their failure does not become the caller's. Used by client, informers and controllers.
import { isPromiseLike } from './promise-like.ts';

/**
 * Calls `report`, which must not throw, with the error that the callback throws, or rejects with if it turns out to be
 * async.
 */
export function guardedCall(callback: () => unknown, report: (error: unknown) => void): void {
  try {
    const result = callback();
    if (isPromiseLike(result)) Promise.resolve(result).catch(report);
  } catch (error) {
    report(error);
  }
}

/**
 * Returns the result of a user's function that must not be async. Throws TypeError for a promise, whose rejection is
 * ignored because it would end the process. `what` is, for example, "a predicate".
 */
export function immediate<R>(answer: R, what: string): R {
  if (!isPromiseLike(answer)) return answer;
  Promise.resolve(answer).catch(() => undefined);
  throw new TypeError(`${what} must be there at once, it is a promise`);
}
