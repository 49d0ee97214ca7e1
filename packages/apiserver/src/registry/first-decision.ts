// firstDecision: several are asked in turn, and the first that decides it counts. For authenticators and authorizers, which most
// often know the answer at once: then nobody waits, as a promise for each costs every request microseconds.

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
  const askFrom = (rest: readonly A[]): MaybePromise<D> => {
    for (const [i, asked] of rest.entries()) {
      const answer = ask(asked);
      if (answer instanceof Promise) return answer.then((known) => decide(known) ?? askFrom(rest.slice(i + 1)));
      const decision = decide(answer);
      if (decision !== undefined) return decision;
    }
    return otherwise();
  };
  return askFrom(all);
}
