// ReviewSpec: a request as a review of access describes it, which webhooks get and match conditions see. Source: apiserver
// plugin/pkg/authorizer/webhook (resourceAttributesFrom).
import type { FieldRequirement, LabelRequirement } from '@kapstan/api/internal';
import type { AuthorizationAttributes } from './authorizer.ts';

/** The spec of a review in version v1. Empty texts are left out. */
export interface ReviewSpec {
  readonly resourceAttributes?: ReviewedResource | undefined;
  readonly nonResourceAttributes?: { readonly path?: string; readonly verb?: string } | undefined;
  readonly user?: string | undefined;
  readonly groups?: readonly string[] | undefined;
  readonly extra?: Readonly<Record<string, readonly string[]>> | undefined;
  readonly uid?: string | undefined;
}

interface ReviewedResource {
  readonly namespace?: string | undefined;
  readonly verb?: string | undefined;
  readonly group?: string | undefined;
  readonly version?: string | undefined;
  readonly resource?: string | undefined;
  readonly subresource?: string | undefined;
  readonly name?: string | undefined;
  readonly fieldSelector?: ReviewedSelector | undefined;
  readonly labelSelector?: ReviewedSelector | undefined;
}

interface ReviewedSelector {
  readonly requirements: readonly ReviewedTerm[];
}

interface ReviewedTerm {
  readonly key: string;
  readonly operator: string;
  readonly values?: readonly string[] | undefined;
}

/** The authorizer's answer to a review. */
export interface ReviewStatus {
  readonly allowed: boolean;
  readonly denied: boolean;
  readonly reason: string;
}

const given = (text: string): string | undefined => (text === '' ? undefined : text);

/** Members that are undefined are not written when it becomes JSON. */
export function reviewSpecOf(attributes: AuthorizationAttributes): ReviewSpec {
  const { name, groups, uid = '', extra } = attributes.user;
  const isPath = attributes.type === 'path';
  return {
    resourceAttributes: isPath ? undefined : resourceOf(attributes),
    nonResourceAttributes: isPath ? { path: attributes.path, verb: attributes.verb } : undefined,
    user: given(name),
    groups: groups.length === 0 ? undefined : groups,
    extra: extra === undefined || Object.keys(extra).length === 0 ? undefined : extra,
    uid: given(uid),
  };
}

function resourceOf(attributes: AuthorizationAttributes & { readonly type: 'resource' }): ReviewedResource {
  const fields = (attributes.fieldSelector?.requirements ?? []).map(fieldTerm);
  const labels = (attributes.labelSelector?.requirements ?? []).flatMap(labelTerm);
  return {
    namespace: given(attributes.namespace),
    verb: given(attributes.verb),
    group: given(attributes.group),
    version: given(attributes.version),
    resource: given(attributes.resource),
    subresource: given(attributes.subresource),
    name: given(attributes.name),
    fieldSelector: fields.length === 0 ? undefined : { requirements: fields },
    labelSelector: labels.length === 0 ? undefined : { requirements: labels },
  };
}

function fieldTerm({ field, operator, value }: FieldRequirement): ReviewedTerm {
  return { key: field, operator: operator === '!=' ? 'NotIn' : 'In', values: [value] };
}

const operators: Partial<Record<LabelRequirement['operator'], string>> = {
  '=': 'In',
  '==': 'In',
  in: 'In',
  '!=': 'NotIn',
  notin: 'NotIn',
  exists: 'Exists',
  '!': 'DoesNotExist',
};

/** An operator that reviews do not have is left out, so the review is then about more objects, never about fewer. */
function labelTerm({ key, operator, values }: LabelRequirement): readonly ReviewedTerm[] {
  const known = operators[operator];
  return known === undefined ? [] : [{ key, operator: known, values: values.length === 0 ? undefined : values }];
}
