// DelegatedAnswers keeps answers of a main API server for some seconds, so that requests of one client do not each ask
// again. Used by delegated-authenticator.ts, delegated-authorizer.ts.
import { createHash } from 'node:crypto';
import type { Clock } from '@kapstan/api';
import { KeptAnswers } from '@kapstan/apiserver/internal';

export interface DelegatedAnswersOptions {
  /** Time for which an answer is cached, in milliseconds. 0 = never. */
  readonly keptMs: number;
  readonly clock: Clock;
}

const maxAnswers = 10_000;

export class DelegatedAnswers<T> {
  readonly #keptMs: number;
  readonly #answers: KeptAnswers<Promise<T>>;

  constructor({ keptMs, clock }: DelegatedAnswersOptions) {
    this.#keptMs = keptMs;
    this.#answers = new KeptAnswers({ clock, maxAnswers, weightOf: () => 1 });
  }

  /** Returns the cached answer to the question, or asks. Simultaneous calls share one question; failures are not cached. */
  of(question: string, ask: () => Promise<T>): Promise<T> {
    if (this.#keptMs === 0) return ask();
    // The question may be a token, which should not stay in memory.
    const key = createHash('sha256').update(question).digest('base64');
    const known = this.#answers.find(key);
    if (known !== undefined) return known;
    const answer = ask();
    this.#answers.keep(key, answer, this.#keptMs);
    answer.catch(() => {
      if (this.#answers.find(key) === answer) this.#answers.forget(key);
    });
    return answer;
  }
}
