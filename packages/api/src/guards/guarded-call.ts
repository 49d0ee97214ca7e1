// Calls of what the user gave, where its failure must not become that of who calls: client, informers and controllers use it.
import { isPromiseLike } from './promise-like.ts';

/** What the callback throws, or rejects with where it is async after all, is given to `report`, which must not throw. */
export function guardedCall(callback: () => unknown, report: (error: unknown) => void): void {
  try {
    const result = callback();
    if (isPromiseLike(result)) Promise.resolve(result).catch(report);
  } catch (error) {
    report(error);
  }
}

/**
 * The answer of what the user gave, where nobody can wait for one. Throws TypeError for a promise; what that rejects with is
 * dropped, as it would end the process. `what`: "a predicate".
 */
export function immediate<R>(answer: R, what: string): R {
  if (!isPromiseLike(answer)) return answer;
  Promise.resolve(answer).catch(() => undefined);
  throw new TypeError(`${what} must be there at once, it is a promise`);
}
