// The audit annotations of webhooks: those that they send, and the server's own about calls and patches. Used by
// mutating-webhooks.ts and validating-webhooks.ts. Source: plugin/webhook/mutating webhookAnnotator,
// admission/attributes.go checkKeyFormat.
import { qualifiedNameErrors } from '@kapstan/api/errors';
import { stringifyEscaped } from '../../codec/go-json.ts';
import type { RequestContext } from '../../registry/definition/request-context.ts';
import type { AdmissionWebhook } from './admission-webhook.ts';

/** Adds the annotations that a webhook sent, under its name. Keys that are not qualified names are left out. */
export function annotateAnswer(
  { context, webhook }: { readonly context: RequestContext; readonly webhook: string },
  annotations: Readonly<Record<string, string>> = {},
): void {
  if (context.annotate === undefined) return;
  for (const [name, value] of Object.entries(annotations)) {
    const key = `${webhook}/${name}`;
    if (key.split('/').length === 2 && qualifiedNameErrors(key).length === 0) context.annotate(key, value);
  }
}

/** Identifies a call of a webhook. `index`: its position among all webhooks of the type. */
export interface NotedCall {
  readonly context: RequestContext;
  readonly webhook: AdmissionWebhook;
  readonly round: 0 | 1;
  readonly index: number;
}

const mutation = 'mutation.webhook.admission.k8s.io/';

export function noteMutation({ context, webhook, round, index }: NotedCall, mutated: boolean): void {
  const { configuration, name } = webhook;
  context.annotate?.(
    `${mutation}round_${round}_index_${index}`,
    stringifyEscaped({ configuration, webhook: name, mutated }),
  );
}

/** A patch contains parts of the object, so it is recorded only where the object itself is. */
export function notePatch({ context, webhook, round, index }: NotedCall, patch: readonly unknown[]): void {
  if (context.annotate === undefined || context.auditsRequest !== true) return;
  const { configuration, name } = webhook;
  const note = { configuration, webhook: name, patch: patch.map(sortedMembers), patchType: 'JSONPatch' };
  context.annotate(`patch.webhook.admission.k8s.io/round_${round}_index_${index}`, stringifyEscaped(note));
}

export function noteFailedOpen({ context, webhook, round, index }: NotedCall, type: 'mutation' | 'validating'): void {
  context.annotate?.(`failed-open.${type}.webhook.admission.k8s.io/round_${round}_index_${index}`, webhook.name);
}

/** Sorts the members, because Go writes operations from maps. */
function sortedMembers(operation: unknown): unknown {
  return Object.fromEntries(Object.entries(operation as object).sort(([a], [b]) => (a < b ? -1 : 1)));
}
