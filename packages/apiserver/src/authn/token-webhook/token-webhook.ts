// TokenWebhook asks a webhook for the user of a bearer token. The control plane wraps it in a TokenCache. Source:
// apiserver plugin/pkg/authenticator/token/webhook, util/webhook (WithExponentialBackoff).
import type { Clock, Logger } from '@kapstan/api';
import { runInTurns } from '@kapstan/storage';
import type { UserInfo } from '../../registry/definition/request-context.ts';
import type { ReviewKind } from '../../webhook/review-document.ts';
import type { WebhookPool } from '../../webhook/webhook-pool.ts';
import { askWithRetries } from '../../webhook/webhook-retries.ts';
import type { WebhookTarget } from '../../webhook/webhook-target.ts';
import type { TokenAuthenticator, TokenResult } from '../token-authenticator.ts';
import { readReviewStatus, type TokenReviewStatus } from './review-answer.ts';

/** Options of a {@link TokenWebhook}. */
export interface TokenWebhookOptions {
  readonly target: WebhookTarget;
  readonly review: ReviewKind;
  /** Audiences for which a token is valid when the webhook names none. */
  readonly apiAudiences: readonly string[];
  readonly pool: WebhookPool;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Uniform in [0, 1), for pauses. Default Math.random. */
  readonly random?: () => number;
}

/** Time limit of a question with all its attempts, and of each attempt. */
const timeoutMs = 30_000;
const maxAnswerBytes = 1024 * 1024;

/** Asks a webhook for the user of a token, by TokenReview. */
export class TokenWebhook implements TokenAuthenticator {
  readonly #options: TokenWebhookOptions;

  constructor(options: TokenWebhookOptions) {
    this.#options = options;
  }

  async authenticateToken(token: string, asked: readonly string[]): Promise<TokenResult> {
    const { logger, review } = this.#options;
    const spec = { token, ...(asked.length > 0 && { audiences: asked }) };
    const question = { kind: review.kind, apiVersion: `${review.group}/${review.version}`, metadata: {}, spec };
    try {
      const body = Buffer.from(JSON.stringify({ ...question, status: { user: {} } }));
      return this.#resultOf(await this.#askAgain(body), asked);
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      logger.error('could not ask the webhook for tokens; the token is refused', { error: error.message });
      return { type: 'refused', error: error.message };
    }
  }

  #resultOf(status: TokenReviewStatus, asked: readonly string[]): TokenResult {
    const { authenticated = false, error = '', audiences: told = [], user = {} } = status;
    const valid = told.length > 0 ? told : this.#options.apiAudiences;
    const audiences = asked.filter((audience) => valid.includes(audience));
    if (asked.length > 0 && audiences.length === 0) return { type: 'unknown' };
    if (authenticated) return { type: 'accepted', user: userOf(user), audiences };
    return error === '' ? { type: 'unknown' } : { type: 'refused', error };
  }

  /** Asks until there is an answer, or an error that another attempt would not change. */
  async #askAgain(body: Buffer): Promise<TokenReviewStatus> {
    const { clock, random } = this.#options;
    const stop = new AbortController();
    const cancel = clock.setBackgroundTimer(() => stop.abort(new Error('context deadline exceeded')), timeoutMs);
    try {
      return await askWithRetries(() => this.#askOnce(body, stop.signal), { clock, random, signal: stop.signal });
    } finally {
      cancel();
    }
  }

  async #askOnce(body: Buffer, signal: AbortSignal): Promise<TokenReviewStatus> {
    const { pool, target, review } = this.#options;
    const call = { body, holdsCredentials: true, timeoutSeconds: timeoutMs / 1000, maxAnswerBytes, signal };
    const answer = await pool.ask(target, call);
    return runInTurns(readReviewStatus(answer, review));
  }
}

function userOf({
  username = '',
  uid = '',
  groups = [],
  extra = {},
}: NonNullable<TokenReviewStatus['user']>): UserInfo {
  const entries = Object.entries(extra).map(([key, values]) => [key, values ?? []] as const);
  return {
    name: username,
    ...(uid === '' ? {} : { uid }),
    groups,
    ...(entries.length === 0 ? {} : { extra: Object.fromEntries(entries) }),
  };
}
