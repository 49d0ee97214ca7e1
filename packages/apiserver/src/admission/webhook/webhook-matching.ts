// WebhookMatching decides to which webhooks a request goes, and in which version of its kind. Used by
// mutating-webhooks.ts and validating-webhooks.ts. Source: plugin/webhook/generic ShouldCallHook.
import type { Clock } from '@kapstan/api';
import { forbidden } from '@kapstan/api/errors';
import type { Authorizer } from '../../authz/authorizer.ts';
import type { ResourceDefinition } from '../../registry/definition/resource-definition.ts';
import type { AdmissionAttributes } from '../../registry/store/admission-control.ts';
import type { ConditionMetrics } from '../matching/condition-metrics.ts';
import type { Invocation } from '../matching/invocation.ts';
import { objectMatches, type RequestMatching } from '../matching/request-matching.ts';
import type { AdmissionWebhook } from './admission-webhook.ts';
import type { WebhookType } from './webhook-metrics.ts';

export interface WebhookMatchingPorts {
  readonly requests: RequestMatching;
  readonly authorizer: Authorizer;
  readonly clock: Clock;
  readonly conditions: ConditionMetrics;
}

/** A request as one webhook gets it. `definition`: the resource that has the objects in that version. */
export interface MatchedWebhook {
  readonly invocation: Invocation;
  readonly definition: ResourceDefinition | undefined;
}

export class WebhookMatching {
  readonly #ports: WebhookMatchingPorts;

  constructor(ports: WebhookMatchingPorts) {
    this.#ports = ports;
  }

  /**
   * Returns undefined when the webhook is not for this request. Rejects with 403 when a condition fails, and with 404
   * when the namespace for a selector does not exist.
   */
  async match(
    webhook: AdmissionWebhook,
    attributes: AdmissionAttributes,
    type: WebhookType,
  ): Promise<MatchedWebhook | undefined> {
    const { requests } = this.#ports;
    const place = requests.placeOf(webhook, attributes);
    if (place === undefined || !objectMatches(webhook.objectSelector, attributes)) return undefined;
    if (!(await requests.namespaceMatches(webhook.namespaceSelector, attributes))) return undefined;
    const invocation = await requests.invocation(place, attributes);
    if (webhook.conditions !== undefined && !(await this.#conditionsHold(webhook, invocation, type))) return undefined;
    return { invocation, definition: place.definition };
  }

  async #conditionsHold(webhook: AdmissionWebhook, invocation: Invocation, called: WebhookType): Promise<boolean> {
    const { authorizer, clock, conditions } = this.#ports;
    const { attributes } = invocation;
    const { signal } = attributes.context;
    const beganMs = clock.monotonicNow();
    const result = await webhook.conditions?.match(invocation, { authorizer, clock, signal });
    const { operation } = attributes;
    // Metrics of conditions use another word for the type than metrics of calls.
    const type = called === 'admit' ? 'admit' : 'validate';
    const of = { name: webhook.name, kind: 'webhook', type, operation } as const;
    conditions.evaluated(of, clock.monotonicNow() - beganMs);
    if (result === 'matches') return true;
    if (typeof result === 'object') conditions.failed(of, result.errors);
    if (typeof result !== 'object' || webhook.ignoresFailure) {
      conditions.excluded(of);
      return false;
    }
    throw forbidden(attributes.resource, attributes.name, result.failed);
  }
}
