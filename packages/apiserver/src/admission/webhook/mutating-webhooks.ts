// MutatingWebhooks is the admission plug-in that calls mutating webhooks, one after the other, and applies their patches.
// Source: plugin/webhook/mutating.
import type { DeepReadonly, KubernetesObject } from '@kapstan/api';
import { internalError } from '@kapstan/api/errors';
import { runInTurns } from '@kapstan/storage';
import type { ResourceDefinition } from '../../registry/definition/resource-definition.ts';
import type { AdmissionAttributes } from '../../registry/store/admission-control.ts';
import { comparedObject, replaceMembers } from '../matching/changed-object.ts';
import { convertBetween } from '../matching/equivalent-resources.ts';
import type { Invocation } from '../matching/invocation.ts';
import { requireReady } from '../matching/readiness.ts';
import { PluginReinvocation } from '../matching/reinvocation.ts';
import { sameKind } from '../matching/request-matching.ts';
import type { AdmissionPlugin } from '../plugin/admission-plugin.ts';
import { type NotedCall, noteFailedOpen, noteMutation, notePatch } from './audit-annotations.ts';
import type { AdmissionReviewAnswer } from './webhook-caller.ts';
import { WebhookCallError } from './webhook-failure.ts';
import type { MatchedWebhook } from './webhook-matching.ts';
import { patchedCopy, readWebhookPatch } from './webhook-patch.ts';
import { isFailedCall, type WebhookPorts, WebhookRun } from './webhook-run.ts';

export class MutatingWebhooks implements AdmissionPlugin {
  readonly name: string;
  readonly #ports: WebhookPorts;
  readonly #run: WebhookRun;

  constructor(name: string, ports: WebhookPorts) {
    this.name = name;
    this.#ports = ports;
    this.#run = new WebhookRun('admit', ports);
  }

  admit(attributes: AdmissionAttributes): Promise<void> | void {
    const { mutating, isExempt } = this.#ports;
    if (mutating.hasSynced && mutating.webhooks.length === 0) return;
    if (isExempt(attributes.kind)) return;
    return this.#admit(attributes);
  }

  async #admit(attributes: AdmissionAttributes): Promise<void> {
    await requireReady(this.#ports.mutating, attributes, this.#ports);
    const state = PluginReinvocation.of(attributes, this.name);
    await state.begin();
    for (const [index, webhook] of this.#ports.mutating.webhooks.entries()) {
      const matched = await this.#ports.matching.match(webhook, attributes, 'admit');
      if (matched === undefined || (state.isSecond && !state.isDue(webhook.id))) continue;
      const round = state.isSecond ? 1 : 0;
      const isChanged = await this.#call(matched, { context: attributes.context, webhook, round, index });
      if (isChanged) state.changed();
      if (webhook.isReinvoked) state.called(webhook.id);
    }
    await state.end();
  }

  /** Returns whether the object was changed. Rejects with the answer when the request is refused. */
  async #call(matched: MatchedWebhook, call: NotedCall): Promise<boolean> {
    const { webhook, context } = call;
    let isChanged = false;
    try {
      await this.#run.call(webhook, matched.invocation, async (answer) => {
        isChanged = await this.#change(matched, answer, call);
      });
    } catch (error) {
      if (!isFailedCall(error) || !webhook.ignoresFailure) throw error;
      noteFailedOpen(call, 'mutation');
      context.signal?.throwIfAborted?.();
    } finally {
      noteMutation(call, isChanged);
    }
    return isChanged;
  }

  async #change(matched: MatchedWebhook, answer: AdmissionReviewAnswer, call: NotedCall): Promise<boolean> {
    const { invocation, definition } = matched;
    const { attributes, kind, object } = invocation;
    const { webhook, context } = call;
    const value = await this.#changedValue(matched, answer, call);
    if (value === undefined) return false;
    if (object === undefined || attributes.object === undefined) {
      const why = `admission webhook ${JSON.stringify(webhook.name)} attempted to modify the object, which is not supported for this operation`;
      throw internalError(new Error(why));
    }
    const of = { kind, definition, subresource: attributes.subresource };
    const hadFractions = answer.object === undefined && losesFractions(invocation, definition);
    const changed = await runInTurns(comparedObject(value, of, object), context.signal);
    // Defaults may have made an otherwise unchanged object different.
    replaceMembers(attributes.object, await this.#inRequestVersion(changed.object, matched));
    return changed.isChanged || hadFractions;
  }

  /** Returns the object as the webhook wants it, before it is decoded; undefined = unchanged. */
  async #changedValue(
    { invocation }: MatchedWebhook,
    answer: AdmissionReviewAnswer,
    call: NotedCall,
  ): Promise<unknown> {
    const { response } = answer;
    const { webhook, context } = call;
    if (answer.object !== undefined) return answer.object;
    if ((response.patch ?? '') === '') return undefined;
    const operations = await runInTurns(readWebhookPatch(webhook.name, response.patch ?? ''), context.signal);
    if (operations.length === 0) return undefined;
    if (invocation.object === undefined) return null;
    const { patchType = 'JSONPatch' } = response;
    if (patchType !== 'JSONPatch') {
      throw new WebhookCallError(webhook.name, {
        why: `unsupported patch type ${JSON.stringify(patchType)}`,
        code: 400,
      });
    }
    const patched = await runInTurns(patchedCopy(invocation.object, operations), context.signal);
    notePatch(call, operations);
    return patched;
  }

  async #inRequestVersion(
    changed: KubernetesObject,
    { invocation, definition }: MatchedWebhook,
  ): Promise<KubernetesObject> {
    const { attributes, kind } = invocation;
    const to = this.#ports.equivalents.definitionOf(attributes.resource);
    if (sameKind(kind, attributes.kind) || definition === undefined || to === undefined) return changed;
    return convertBetween(changed, { from: definition, to, context: attributes.context });
  }
}

/**
 * Returns true when any patch counts as a change, even an empty one: kube-apiserver sets times in managed fields with
 * fractions of a second, and the first patch of a request loses the fractions. Custom resources keep them, because their
 * times are plain strings.
 */
function losesFractions(
  { attributes, object, oldObject }: Invocation,
  definition: ResourceDefinition | undefined,
): boolean {
  if (definition?.isCustom === true || attributes.reinvocation?.isNeeded === true) return false;
  const timesOf = (of: DeepReadonly<KubernetesObject> | undefined): readonly (string | undefined)[] =>
    (of?.metadata?.managedFields ?? []).map(({ time }) => time);
  const known = new Set(timesOf(oldObject));
  return timesOf(object).some((time) => time !== undefined && !known.has(time));
}
