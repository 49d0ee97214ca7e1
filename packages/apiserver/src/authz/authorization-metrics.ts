// AuthorizationMetrics counts decisions of authorizers, calls of their webhooks and the cost of match conditions, under
// kube-apiserver's names. Source: apiserver pkg/authorization/metrics, pkg/authorization/cel/metrics.go,
// plugin/pkg/authorizer/webhook/metrics.
import {
  counterFamily,
  Histogram,
  histogramFamily,
  isPromiseLike,
  LabelSeries,
  type MetricFamily,
  NumberSeries,
} from '@kapstan/api/internal';
import type { AuthorizationDecision, Authorizer, UserRules } from './authorizer.ts';

/** 'canceled' does not occur: one call answers all requests with the same question, so a client that leaves does not stop it. */
export type WebhookResult = 'success' | 'timeout' | 'error';

const conditionBuckets = [0.001, 0.005, 0.01, 0.025, 0.1, 0.2, 0.25];
const callBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const prefix = 'apiserver_authorization_';

/** The rules of an authorizer that cannot list them. */
const unlisted: UserRules = { resourceRules: [], nonResourceRules: [], incomplete: true };

interface Count {
  value: number;
}

/** Counts decisions and calls of authorizers, under kube-apiserver's names. */
export class AuthorizationMetrics {
  readonly #decisions: LabelSeries<Count> = new LabelSeries(() => ({ value: 0 }));
  readonly #calls = new NumberSeries();
  readonly #failOpen = new NumberSeries();
  readonly #callSeconds: LabelSeries<Histogram> = new LabelSeries(() => new Histogram(callBuckets));
  readonly #conditionErrors = new NumberSeries();
  readonly #exclusions = new NumberSeries();
  readonly #conditionSeconds: LabelSeries<Histogram> = new LabelSeries(() => new Histogram(conditionBuckets));
  /** Wraps an authorizer so that its decisions are counted. "No opinion" does not count as a decision. */
  counted(type: string, name: string, authorizer: Authorizer): Authorizer {
    const counterOf = (decision: string): Count =>
      this.#decisions.of(`${type} ${name} ${decision}`, () => ({ decision, name, type }));
    let allowed: Count | undefined;
    let denied: Count | undefined;
    const count = (answer: AuthorizationDecision): AuthorizationDecision => {
      if (answer.decision === 'allow') {
        allowed ??= counterOf('allowed');
        allowed.value++;
      } else if (answer.decision === 'deny') {
        denied ??= counterOf('denied');
        denied.value++;
      }
      return answer;
    };
    return {
      authorize: (attributes) => {
        const answer = authorizer.authorize(attributes);
        return isPromiseLike(answer) ? Promise.resolve(answer).then(count) : count(answer);
      },
      rulesFor: (user, namespace) => authorizer.rulesFor?.(user, namespace) ?? unlisted,
    };
  }

  onCall(name: string, result: WebhookResult, durationMs: number): void {
    this.#calls.add({ name, result });
    this.#callSeconds.of(`${name} ${result}`, () => ({ name, result })).observe(durationMs / 1000);
  }

  /** Counts a request that continues although its webhook failed. */
  onFailOpen(name: string, result: WebhookResult): void {
    this.#failOpen.add({ name, result });
  }

  onConditions(
    name: string,
    { durationMs, outcome }: { durationMs: number; outcome: 'ok' | 'excluded' | 'failed' },
  ): void {
    const labels = { name, type: 'Webhook' };
    this.#conditionSeconds.of(name, () => labels).observe(durationMs / 1000);
    if (outcome === 'excluded') this.#exclusions.add(labels);
    if (outcome === 'failed') this.#conditionErrors.add(labels);
  }

  families(): MetricFamily[] {
    return [
      counterFamily(
        `${prefix}decisions_total`,
        'Number of decisions, by type and name of the authorizer that made them.',
        this.#decisions.samples(({ value }) => value),
      ),
      counterFamily(`${prefix}webhook_evaluations_total`, 'Calls of authorization webhooks.', this.#calls.samples()),
      histogramFamily(
        `${prefix}webhook_duration_seconds`,
        'Duration of calls of authorization webhooks, in seconds.',
        this.#callSeconds.samples((seconds) => seconds.counts()),
      ),
      counterFamily(
        `${prefix}webhook_evaluations_fail_open_total`,
        'Requests that went on to the next authorizer because a webhook failed.',
        this.#failOpen.samples(),
      ),
      counterFamily(
        `${prefix}match_condition_evaluation_errors_total`,
        'Requests for which a match condition failed.',
        this.#conditionErrors.samples(),
      ),
      counterFamily(
        `${prefix}match_condition_exclusions_total`,
        'Requests that match conditions kept from a webhook.',
        this.#exclusions.samples(),
      ),
      histogramFamily(
        `${prefix}match_condition_evaluation_seconds`,
        'Time taken by match conditions of one request, in seconds.',
        this.#conditionSeconds.samples((seconds) => seconds.counts()),
      ),
    ];
  }
}
