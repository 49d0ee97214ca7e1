// WebhookRun calls one webhook for one request and counts the outcome. It is the common part of mutating-webhooks.ts
// and validating-webhooks.ts. Source: plugin/webhook dispatchers.
import { type Clock, isStatusError } from '@kapstan/api';
import { badRequest } from '@kapstan/api/errors';
import { type GroupVersionKind, goQuote } from '@kapstan/api/internal';
import type { ConditionMetrics } from '../matching/condition-metrics.ts';
import type { EquivalentResources } from '../matching/equivalent-resources.ts';
import type { Invocation } from '../matching/invocation.ts';
import type { AdmissionWebhook, WebhookSource } from './admission-webhook.ts';
import { annotateAnswer } from './audit-annotations.ts';
import type { AdmissionReviewAnswer } from './webhook-caller.ts';
import { denial, WebhookCallError } from './webhook-failure.ts';
import type { WebhookMatching } from './webhook-matching.ts';
import type { WebhookMetrics, WebhookType } from './webhook-metrics.ts';

/** Ports that both plug-ins use. */
export interface WebhookPorts {
  readonly mutating: WebhookSource;
  readonly validating: WebhookSource;
  readonly matching: WebhookMatching;
  readonly equivalents: EquivalentResources;
  readonly metrics: WebhookMetrics;
  /** Counts evaluations of match conditions. */
  readonly conditions: ConditionMetrics;
  readonly clock: Clock;
  /** True for kinds about which no webhook is asked, because a bad configuration must stay correctable. */
  readonly isExempt: (kind: GroupVersionKind) => boolean;
}

export class WebhookRun {
  readonly #type: WebhookType;
  readonly #ports: WebhookPorts;

  constructor(type: WebhookType, ports: WebhookPorts) {
    this.#type = type;
    this.#ports = ports;
  }

  /**
   * Calls the webhook, and `use` with an answer that allows. Rejects with a denial, with WebhookCallError for a failed
   * call that may be ignored, and with the errors of `use`.
   */
  async call(
    webhook: AdmissionWebhook,
    invocation: Invocation,
    use?: (answer: AdmissionReviewAnswer) => Promise<void>,
  ): Promise<void> {
    const { clock, metrics } = this.#ports;
    const { attributes } = invocation;
    const of = { name: webhook.name, type: this.#type, operation: attributes.operation };
    const beganMs = clock.monotonicNow();
    const note = (code: number, isRejected: boolean): void =>
      metrics.called(of, { code, isRejected, durationMs: clock.monotonicNow() - beganMs });
    try {
      const answer = await this.#ask(webhook, invocation);
      await use?.(answer);
      note(200, false);
    } catch (error) {
      if (error instanceof WebhookCallError) {
        const { code } = error;
        if (!webhook.ignoresFailure) metrics.rejected(of, 'calling_webhook_error', code);
        else metrics.failedOpen(of);
        note(code, !webhook.ignoresFailure);
        throw webhook.ignoresFailure ? error : error.status;
      }
      if (error instanceof Denied) {
        metrics.rejected(of, 'no_error', error.status.code);
        note(error.status.code, true);
        throw error.status;
      }
      if (isStatusError(error)) {
        metrics.rejected(of, 'apiserver_internal_error', 0);
        note(0, true);
      }
      throw error;
    }
  }

  async #ask(webhook: AdmissionWebhook, invocation: Invocation): Promise<AdmissionReviewAnswer> {
    const { context } = invocation.attributes;
    const { name } = webhook;
    if (context.dryRun && webhook.hasSideEffects) {
      throw badRequest(`admission webhook ${goQuote(name)} does not support dry run`);
    }
    const isMutating = this.#type === 'admit';
    const { configuration } = webhook;
    const question = { webhook: name, configuration, invocation, isMutating, signal: context.signal };
    const answer = await webhook.caller.ask(question);
    const { allowed, status, auditAnnotations, warnings = [] } = answer.response;
    annotateAnswer({ context, webhook: name }, auditAnnotations);
    for (const text of warnings) context.warn(text);
    if (!allowed) throw new Denied(denial(name, status));
    return answer;
  }
}

/** A webhook refused the request, as opposed to an error of this server on the way. */
class Denied extends Error {
  readonly status: ReturnType<typeof denial>;

  constructor(status: ReturnType<typeof denial>) {
    super(status.message);
    this.status = status;
  }
}

/** True for a call without a usable answer of a webhook whose failure policy is Ignore. */
export function isFailedCall(error: unknown): error is WebhookCallError {
  return error instanceof WebhookCallError;
}
