// TokenCache keeps the answers of an authenticator that takes long, such as a webhook, and lets simultaneous requests with one token share
// one question. Tokens are not kept, only keyed hashes of them. Source: apiserver pkg/authentication/token/cache.
import { createHmac, randomBytes } from 'node:crypto';
import type { Clock } from '@kapstan/api';
import { KeptAnswers } from '../../peer/kept-answers.ts';
import type { MaybePromise } from '../../registry/definition/first-decision.ts';
import type { TokenAuthenticator, TokenResult } from '../token-authenticator.ts';
import type { TokenCacheMetrics } from './token-cache-metrics.ts';

/** Options of a {@link TokenCache}. Times are in milliseconds; 0 remembers nothing. */
export interface TokenCacheOptions {
  readonly authenticator: TokenAuthenticator;
  /** Time for which an accepted token counts, in milliseconds; never longer than it is valid. 0 = not at all. */
  readonly acceptedMs: number;
  /**
   * Time for which a token that the authenticator does not know stays unknown. 0 = not at all. Errors are never kept.
   */
  readonly unknownMs: number;
  readonly metrics: TokenCacheMetrics;
  readonly clock: Clock;
}

const maxAnswers = 32_768;

/** Remembers answers about tokens for some time, so that not every request asks again. */
export class TokenCache implements TokenAuthenticator {
  readonly #options: TokenCacheOptions;
  readonly #secret = randomBytes(32);
  readonly #kept: KeptAnswers<TokenResult>;
  readonly #asking = new Map<string, Promise<TokenResult>>();
  /** Number of times that the answers were forgotten. */
  #generation = 0;

  constructor(options: TokenCacheOptions) {
    this.#options = options;
    const { clock } = options;
    this.#kept = new KeptAnswers({ clock, maxAnswers, weightOf });
  }

  authenticateToken(token: string, asked: readonly string[]): MaybePromise<TokenResult> {
    const { metrics, clock } = this.#options;
    const startMs = clock.monotonicNow();
    const key = createHmac('sha256', this.#secret)
      .update(JSON.stringify([token, asked]))
      .digest('base64');
    const kept = this.#kept.find(key);
    if (kept !== undefined) {
      metrics.answered('hit', clock.monotonicNow() - startMs);
      return kept;
    }
    const answer = this.#asking.get(key) ?? this.#ask(key, token, asked);
    if (!(answer instanceof Promise)) {
      metrics.answered('miss', clock.monotonicNow() - startMs);
      return answer;
    }
    metrics.blocked(1);
    return answer.finally(() => {
      metrics.blocked(-1);
      metrics.answered('miss', clock.monotonicNow() - startMs);
    });
  }

  /** Forgets all answers, including pending ones, because the authenticator would now give others. */
  clear(): void {
    this.#generation++;
    this.#asking.clear();
    this.#kept.clear();
  }

  #ask(key: string, token: string, asked: readonly string[]): MaybePromise<TokenResult> {
    const answer = this.#options.authenticator.authenticateToken(token, asked);
    if (!(answer instanceof Promise)) return answer;
    const { metrics } = this.#options;
    const generation = this.#generation;
    metrics.fetching(1);
    const shared = answer.then(
      (result) => {
        metrics.fetched(result.type === 'refused' ? 'error' : 'ok');
        if (generation === this.#generation) this.#kept.keep(key, result, this.#lifetimeMs(result));
        return result;
      },
      (error: unknown) => {
        metrics.fetched('error');
        throw error;
      },
    );
    const ended: Promise<TokenResult> = shared.finally(() => {
      metrics.fetching(-1);
      if (this.#asking.get(key) === ended) this.#asking.delete(key);
    });
    this.#asking.set(key, ended);
    return ended;
  }

  #lifetimeMs(result: TokenResult): number {
    const { acceptedMs, unknownMs, clock } = this.#options;
    if (result.type === 'refused') return 0;
    if (result.type === 'unknown') return unknownMs;
    const { untilMs = Number.POSITIVE_INFINITY } = result;
    return Math.min(acceptedMs, untilMs - clock.now());
  }
}

function weightOf(result: TokenResult): number {
  return result.type === 'accepted' ? JSON.stringify(result.user).length : 0;
}
