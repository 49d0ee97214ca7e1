// firstDecision asks several parties in turn until one decides. Authenticators and authorizers use it. Most know the
// answer at once, so no promise is made, which would cost every request microseconds.
import { isPromiseLike } from '@kapstan/api/internal';

export type MaybePromise<T> = T | Promise<T>;

export interface InTurn<A, R, D> {
  readonly ask: (asked: A) => MaybePromise<R>;
  /** Returns the decision; undefined = the next party is asked. */
  readonly decide: (answer: R) => D | undefined;
  /** Returns the decision when no party has made one. */
  readonly otherwise: () => D;
}

/** Decides in this turn if all parties asked so far answer in it. Throws or rejects with the error of any of them. */
export function firstDecision<A, R, D>(
  all: readonly A[],
  { ask, decide, otherwise }: InTurn<A, R, D>,
): MaybePromise<D> {
  const askFrom = (first: number): MaybePromise<D> => {
    let next = first;
    for (const asked of first === 0 ? all : all.slice(first)) {
      next++;
      const answer = ask(asked);
      if (isPromiseLike(answer)) return Promise.resolve(answer).then((known) => decide(known) ?? askFrom(next));
      const decision = decide(answer);
      if (decision !== undefined) return decision;
    }
    return otherwise();
  };
  return askFrom(0);
}
