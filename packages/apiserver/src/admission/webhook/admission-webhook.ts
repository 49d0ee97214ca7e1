// AdmissionWebhook: one webhook as requests need it, made of a configuration or of a function of this process. Source:
// plugin/webhook/accessors.go.
import { type DeepReadonly, type LabelSelector, type LabelSelectorSpec, labelSelectorFrom } from '@kapstan/api';
import type { MatchCondition, MatchConditions } from '../matching/match-conditions.ts';
import type { ResourceRule } from '../matching/resource-rule.ts';
import type { WebhookCaller } from './webhook-caller.ts';

/** The fields of a webhook in a configuration, in its API form and with its defaults set. */
export interface WebhookSpec {
  readonly name: string;
  readonly rules?: readonly ResourceRule[];
  readonly failurePolicy?: string;
  readonly matchPolicy?: string;
  readonly namespaceSelector?: LabelSelectorSpec;
  readonly objectSelector?: LabelSelectorSpec;
  readonly matchConditions?: readonly MatchCondition[];
  readonly sideEffects?: string | null;
  readonly timeoutSeconds?: number;
  readonly reinvocationPolicy?: string;
}

export interface AdmissionWebhook {
  /** Unlike the name, it is unique. */
  readonly id: string;
  readonly configuration: string;
  readonly name: string;
  readonly rules: readonly ResourceRule[];
  /** True = a call that fails does not refuse the request. */
  readonly ignoresFailure: boolean;
  /** True = requests in other versions of a kind match too, and are converted. */
  readonly matchesEquivalent: boolean;
  readonly namespaceSelector: LabelSelector;
  readonly objectSelector: LabelSelector;
  /** Absent = there are none. */
  readonly conditions?: MatchConditions | undefined;
  /** True = it may not be called for a dry run. */
  readonly hasSideEffects: boolean;
  /** True = it is called again if the object is changed after its call. */
  readonly isReinvoked: boolean;
  readonly caller: WebhookCaller;
}

/** The webhooks of one type, in the order in which they are called. */
export interface WebhookSource {
  /** False until everything that was stored at the start is known. */
  readonly hasSynced: boolean;
  readonly webhooks: readonly AdmissionWebhook[];
}

export interface WebhookContext {
  readonly configuration: string;
  /** Place among the webhooks of that configuration. */
  readonly index: number;
  readonly conditions: MatchConditions | undefined;
  readonly caller: WebhookCaller;
}

/** Throws TypeError for a selector that cannot be read. */
export function admissionWebhook(spec: DeepReadonly<WebhookSpec>, parts: WebhookContext): AdmissionWebhook {
  const { name, rules = [], sideEffects } = spec;
  const { configuration, index, conditions, caller } = parts;
  return {
    id: `${configuration}/${name}/${index}`,
    configuration,
    name,
    rules,
    ignoresFailure: spec.failurePolicy === 'Ignore',
    matchesEquivalent: spec.matchPolicy === 'Equivalent',
    namespaceSelector: labelSelectorFrom(spec.namespaceSelector),
    objectSelector: labelSelectorFrom(spec.objectSelector),
    conditions,
    hasSideEffects: sideEffects !== 'None' && sideEffects !== 'NoneOnDryRun',
    isReinvoked: spec.reinvocationPolicy === 'IfNeeded',
    caller,
  };
}
