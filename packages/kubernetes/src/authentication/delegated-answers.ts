// DelegatedAnswers keeps answers of a main API server for some seconds, so that requests of one client do not each ask
// again. Its size is bounded; the oldest answer goes first. Used by delegated-authenticator.ts, delegated-authorizer.ts.
import { createHash } from 'node:crypto';
import type { Clock } from '@kapstan/api';

export interface DelegatedAnswersOptions {
  /** How long an answer counts, in milliseconds. 0 = never. */
  readonly keptMs: number;
  readonly clock: Clock;
}

const maxAnswers = 10_000;

export class DelegatedAnswers<T> {
  readonly #options: DelegatedAnswersOptions;
  readonly #answers = new Map<string, { readonly answer: Promise<T>; readonly untilMs: number }>();

  constructor(options: DelegatedAnswersOptions) {
    this.#options = options;
  }

  /** Returns the kept answer for the question, or asks. Calls at the same time share one question; failures are not kept. */
  of(question: string, ask: () => Promise<T>): Promise<T> {
    const { keptMs, clock } = this.#options;
    if (keptMs === 0) return ask();
    // Tokens are questions, and should not stay in memory.
    const key = createHash('sha256').update(question).digest('base64');
    const now = clock.monotonicNow();
    const known = this.#answers.get(key);
    if (known !== undefined && known.untilMs > now) return known.answer;
    const answer = ask();
    this.#answers.delete(key);
    this.#answers.set(key, { answer, untilMs: now + keptMs });
    answer.catch(() => {
      if (this.#answers.get(key)?.answer === answer) this.#answers.delete(key);
    });
    if (this.#answers.size > maxAnswers) this.#answers.delete(this.#answers.keys().next().value as string);
    return answer;
  }
}
