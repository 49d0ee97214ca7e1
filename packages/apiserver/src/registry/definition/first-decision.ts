// firstDecision: several are asked in turn, and the first that decides it counts. For authenticators and authorizers, which most
// often know the answer at once: then nobody waits, as a promise for each costs every request microseconds.
import { isPromiseLike } from '@kapstan/api/internal';

export type MaybePromise<T> = T | Promise<T>;

export interface InTurn<A, R, D> {
  readonly ask: (asked: A) => MaybePromise<R>;
  /** Undefined: the next one is asked. */
  readonly decide: (answer: R) => D | undefined;
  /** When nobody has decided it. */
  readonly otherwise: () => D;
}

/** In this turn as far as they answer in it. Throws or rejects with what one of them does. */
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
