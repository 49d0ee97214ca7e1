// ValidatingWebhooks is the admission plug-in that calls validating webhooks, all at once. A plug-in of the admission
// chain. Source: plugin/webhook/validating.
import { isStatusError } from '@kapstan/api';
import { timeout } from '@kapstan/api/errors';
import type { AdmissionAttributes } from '../../registry/store/admission-control.ts';
import { requireReady } from '../matching/readiness.ts';
import type { AdmissionPlugin } from '../plugin/admission-plugin.ts';
import type { AdmissionWebhook } from './admission-webhook.ts';
import { noteFailedOpen } from './audit-annotations.ts';
import type { MatchedWebhook } from './webhook-matching.ts';
import { isFailedCall, type WebhookPorts, WebhookRun } from './webhook-run.ts';

interface Relevant {
  readonly webhook: AdmissionWebhook;
  readonly matched: MatchedWebhook;
}

export class ValidatingWebhooks implements AdmissionPlugin {
  readonly name: string;
  readonly #ports: WebhookPorts;
  readonly #run: WebhookRun;

  constructor(name: string, ports: WebhookPorts) {
    this.name = name;
    this.#ports = ports;
    this.#run = new WebhookRun('validating', ports);
  }

  /** True when there is nobody to ask, so that requests need not be described. */
  get isIdle(): boolean {
    const { hasSynced, webhooks } = this.#ports.validating;
    return hasSynced && webhooks.length === 0;
  }

  validate(attributes: AdmissionAttributes): Promise<void> | void {
    if (this.isIdle || this.#ports.isExempt(attributes.kind)) return;
    return this.#validate(attributes);
  }

  async #validate(attributes: AdmissionAttributes): Promise<void> {
    const { validating, matching } = this.#ports;
    await requireReady(validating, attributes, this.#ports);
    const relevant: Relevant[] = [];
    for (const webhook of validating.webhooks) {
      const matched = await matching.match(webhook, attributes, 'validating');
      if (matched !== undefined) relevant.push({ webhook, matched });
    }
    if (relevant.length === 0) return;
    const { signal } = attributes.context;
    if (signal?.aborted === true) {
      throw isStatusError(signal.reason)
        ? signal.reason
        : timeout('request did not complete within requested timeout', 0);
    }
    await this.#callAll(relevant);
  }

  /** All calls are awaited, and the earliest refusal is the answer. */
  async #callAll(relevant: readonly Relevant[]): Promise<void> {
    const refusals: unknown[] = [];
    const calls = relevant.map(({ webhook, matched }, index) =>
      this.#call(webhook, matched, index).catch((error: unknown) => void refusals.push(error)),
    );
    await Promise.all(calls);
    if (refusals.length > 0) throw refusals[0];
  }

  async #call(webhook: AdmissionWebhook, { invocation }: MatchedWebhook, index: number): Promise<void> {
    const { context } = invocation.attributes;
    try {
      await this.#run.call(webhook, invocation);
    } catch (error) {
      if (!isFailedCall(error)) throw error;
      noteFailedOpen({ context, webhook, round: 0, index }, 'validating');
    }
  }
}
