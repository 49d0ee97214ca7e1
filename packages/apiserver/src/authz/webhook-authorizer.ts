// WebhookAuthorizer asks a webhook about rights. It caches answers for some time, asks once for simultaneous equal requests, and tries
// again after transient failures. A cached answer is given at once, without a promise. Source: apiserver plugin/pkg/authorizer/webhook.
import { createHash } from 'node:crypto';
import type { Clock, Logger } from '@kapstan/api';
import { KeptAnswers } from '../peer/kept-answers.ts';
import type { MaybePromise } from '../registry/definition/first-decision.ts';
import { WebhookError } from '../webhook/webhook-pool.ts';
import { askWithRetries } from '../webhook/webhook-retries.ts';
import { type ReviewSpec, type ReviewStatus, reviewSpecOf } from './access-review.ts';
import type { AuthorizationMetrics, WebhookResult } from './authorization-metrics.ts';
import type { AuthorizationAttributes, AuthorizationDecision, Authorizer, UserRules } from './authorizer.ts';
import type { ConditionResult, ReviewConditions } from './review-conditions.ts';

export interface WebhookAuthorizerOptions {
  readonly name: string;
  /** Time for which answers count, in milliseconds; 0 = they are not kept. */
  readonly authorizedTtlMs: number;
  readonly unauthorizedTtlMs: number;
  /** The decision when the webhook, or a condition, fails. A call for which there is no room is denied in any case. */
  readonly onError: 'noOpinion' | 'deny';
  /** Requests for which a condition is false do not reach the webhook. Undefined = all reach it. */
  readonly conditions: ReviewConditions | undefined;
  /** Asks the webhook once. Rejects with a WebhookError for a failed call. */
  readonly ask: (spec: ReviewSpec) => Promise<ReviewStatus>;
  readonly metrics: AuthorizationMetrics;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Uniform in [0, 1), for pauses. Default Math.random. */
  readonly random?: () => number;
}

/** Source: apiserver plugin/pkg/authorizer/webhook (responseCache). */
const maxAnswers = 8192;
/** Longer questions are kept as hashes, so that users with many groups take no more memory than others. */
const longestKey = 512;
/** Length of the client-chosen parts of a question from which answers are not kept. */
const longestKept = 10_000;

const withoutOpinion: AuthorizationDecision = { decision: 'noOpinion', reason: '' };

/** Asks a webhook about users' permissions, by SubjectAccessReview, and caches its answers for some time. */
export class WebhookAuthorizer implements Authorizer {
  readonly #options: WebhookAuthorizerOptions;
  readonly #answers: KeptAnswers<ReviewStatus>;
  readonly #asking = new Map<string, Promise<ReviewStatus>>();

  constructor(options: WebhookAuthorizerOptions) {
    this.#options = options;
    const { clock } = options;
    this.#answers = new KeptAnswers({ clock, maxAnswers, weightOf: ({ reason }) => reason.length });
  }

  authorize(attributes: AuthorizationAttributes): MaybePromise<AuthorizationDecision> {
    const spec = reviewSpecOf(attributes);
    const matched = this.#match(spec);
    if (matched instanceof Promise)
      return matched.then((result) => this.#refused(result) ?? this.#decide(spec, attributes));
    return this.#refused(matched) ?? this.#decide(spec, attributes);
  }

  /** The rights that a webhook grants cannot be listed. */
  rulesFor(): UserRules {
    const evaluationError = 'webhook authorizer does not support user rule resolution';
    return { resourceRules: [], nonResourceRules: [], incomplete: true, evaluationError };
  }

  #match(spec: ReviewSpec): MaybePromise<ConditionResult> {
    const { conditions, clock } = this.#options;
    if (conditions === undefined) return 'matches';
    const startMs = clock.monotonicNow();
    const told = (result: ConditionResult): ConditionResult => {
      const outcome = result === 'matches' ? 'ok' : result === 'differs' ? 'excluded' : 'failed';
      this.#options.metrics.onConditions(this.#options.name, { durationMs: clock.monotonicNow() - startMs, outcome });
      return result;
    };
    const result = conditions.match(spec);
    return result instanceof Promise ? result.then(told) : told(result);
  }

  /** Returns undefined when the conditions hold. */
  #refused(result: ConditionResult): AuthorizationDecision | undefined {
    if (result === 'matches') return undefined;
    if (result === 'differs') return withoutOpinion;
    return { decision: this.#options.onError, reason: '', error: result.error };
  }

  #decide(spec: ReviewSpec, attributes: AuthorizationAttributes): MaybePromise<AuthorizationDecision> {
    const question = keyOf(JSON.stringify(spec));
    const known = this.#answers.find(question);
    if (known !== undefined) return decisionOf(known);
    return this.#asked(question, { spec, isKept: lengthOf(attributes) < longestKept });
  }

  async #asked(
    question: string,
    { spec, isKept }: { readonly spec: ReviewSpec; readonly isKept: boolean },
  ): Promise<AuthorizationDecision> {
    try {
      return decisionOf(await this.#askOnce(question, { spec, isKept }));
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      // A flood of requests must not switch the webhook off.
      if (error instanceof WebhookError && error.reason === 'busy') return { decision: 'deny', reason: '', error };
      if (this.#options.onError === 'noOpinion') this.#options.metrics.onFailOpen(this.#options.name, resultOf(error));
      return { decision: this.#options.onError, reason: '', error };
    }
  }

  /** Requests that ask the same while an answer is awaited share it. */
  #askOnce(
    question: string,
    { spec, isKept }: { readonly spec: ReviewSpec; readonly isKept: boolean },
  ): Promise<ReviewStatus> {
    const under = this.#asking.get(question);
    if (under !== undefined) return under;
    const asking = this.#askWithRetries(spec)
      .then((status) => {
        const { authorizedTtlMs, unauthorizedTtlMs } = this.#options;
        if (isKept) this.#answers.keep(question, status, status.allowed ? authorizedTtlMs : unauthorizedTtlMs);
        return status;
      })
      .finally(() => this.#asking.delete(question));
    this.#asking.set(question, asking);
    return asking;
  }

  async #askWithRetries(spec: ReviewSpec): Promise<ReviewStatus> {
    const { name, clock, logger, random } = this.#options;
    try {
      return await askWithRetries(() => this.#askTimed(spec), { clock, random });
    } catch (error) {
      logger.error('the authorization webhook could not be asked', { webhook: name, error: String(error) });
      throw error;
    }
  }

  async #askTimed(spec: ReviewSpec): Promise<ReviewStatus> {
    const { name, ask, metrics, clock } = this.#options;
    const startMs = clock.monotonicNow();
    const tell = (result: WebhookResult): void => metrics.onCall(name, result, clock.monotonicNow() - startMs);
    try {
      const status = await ask(spec);
      tell('success');
      return status;
    } catch (error) {
      tell(resultOf(error));
      throw error;
    }
  }
}

function decisionOf({ allowed, denied, reason }: ReviewStatus): AuthorizationDecision {
  if (denied && allowed) {
    const error = new Error('webhook subject access review returned both allow and deny response');
    return { decision: 'deny', reason, error };
  }
  return { decision: denied ? 'deny' : allowed ? 'allow' : 'noOpinion', reason };
}

function resultOf(error: unknown): WebhookResult {
  const isTimeout = error instanceof WebhookError && (error.reason === 'timeout' || error.code === 504);
  return isTimeout ? 'timeout' : 'error';
}

/** Returns the length of everything that the sender chooses; the user's name and groups do not count. */
function lengthOf(attributes: AuthorizationAttributes): number {
  const { verb } = attributes;
  if (attributes.type === 'path') return Buffer.byteLength(verb) + Buffer.byteLength(attributes.path);
  const { namespace, group, version, resource, subresource, name } = attributes;
  return [verb, namespace, group, version, resource, subresource, name].reduce(
    (sum, text) => sum + Buffer.byteLength(text),
    0,
  );
}

function keyOf(question: string): string {
  return question.length <= longestKey ? question : createHash('sha256').update(question).digest('base64');
}
