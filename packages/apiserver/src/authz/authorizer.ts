// The Authorizer port and its refusal. Implemented by masters-authorizer.ts, rbac-authorizer.ts, attribute-authorizer.ts
// and webhook-authorizer.ts, joined by union-authorizer.ts. Source: apiserver pkg/authorization/authorizer,
// responsewriters.Forbidden.

import { StatusError } from '@kapstan/api';
import { forbidden } from '@kapstan/api/errors';
import { type FieldRequirement, goQuote, type LabelRequirement } from '@kapstan/api/internal';
import type { MaybePromise } from '../registry/definition/first-decision.ts';
import type { UserInfo } from '../registry/definition/request-context.ts';

/** The subject of a decision: a user, an action, and a resource or path. */
export type AuthorizationAttributes =
  | {
      readonly type: 'resource';
      readonly user: UserInfo;
      readonly verb: string;
      readonly group: string;
      readonly version: string;
      readonly namespace: string;
      readonly resource: string;
      readonly subresource: string;
      readonly name: string;
      /** The selector that limits a list, watch or deletecollection. Absent = no limit. */
      readonly fieldSelector?: SelectorTerms<FieldRequirement> | undefined;
      readonly labelSelector?: SelectorTerms<LabelRequirement> | undefined;
    }
  | { readonly type: 'path'; readonly user: UserInfo; readonly verb: string; readonly path: string };

/** The terms of a selector; all hold for the requested objects. */
export interface SelectorTerms<T> {
  /**
   * The terms that were understood. Without the others the selection is larger, so an authorizer that uses only these
   * decides about more objects than requested, never about fewer.
   */
  readonly requirements: readonly T[];
  /** The reason why some terms, or the whole selector, could not be read. */
  readonly error?: Error | undefined;
}

/** The answer of an authorizer. "noOpinion" lets the next one decide; from the last one it is a refusal. */
export interface AuthorizationDecision {
  readonly decision: 'allow' | 'deny' | 'noOpinion';
  /** Reason for the decision, shown to the client in a refusal. "" = no reason. */
  readonly reason: string;
  /**
   * The reason why there was no proper decision. A request that is not allowed and has an error is answered with 500.
   */
  readonly error?: Error | undefined;
}

interface ResourceRule {
  readonly verbs: readonly string[];
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  /** Absent = every name. */
  readonly resourceNames?: readonly string[];
}

interface NonResourceRule {
  readonly verbs: readonly string[];
  readonly nonResourceURLs: readonly string[];
}

/** Everything that a user may do in a namespace, as far as an authorizer knows. */
export interface UserRules {
  readonly resourceRules: readonly ResourceRule[];
  readonly nonResourceRules: readonly NonResourceRule[];
  /** True = more may be allowed than is listed. */
  readonly incomplete: boolean;
  readonly evaluationError?: string | undefined;
}

/** Decides whether a user may do something. */
export interface Authorizer {
  authorize(attributes: AuthorizationAttributes): MaybePromise<AuthorizationDecision>;
  /** Returns the rules for SelfSubjectRulesReview. Absent = they cannot be listed. Source: authorizer.RuleResolver. */
  rulesFor?(user: UserInfo, namespace: string): MaybePromise<UserRules>;
}

/** There are no rules, and none are hidden. */
const noRules: UserRules = { resourceRules: [], nonResourceRules: [], incomplete: false };

/** The rules of a user who may do everything. */
const allRules: UserRules = {
  resourceRules: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }],
  nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['*'] }],
  incomplete: false,
};

/** Allows everything to everyone. Meant for tests; never a default. */
export const alwaysAllow: Authorizer = {
  authorize: () => ({ decision: 'allow', reason: '' }),
  rulesFor: () => allRules,
};

/** Has no opinion on any request, and gives this as the reason. Source: authorizerfactory.NewAlwaysDenyAuthorizer. */
export const alwaysDeny: Authorizer = {
  authorize: () => ({ decision: 'noOpinion', reason: 'Everything is forbidden.' }),
  rulesFor: () => noRules,
};

/** Returns the text for a refusal: the error, if there is one, and the reason. */
export function refusalReason({ reason, error }: AuthorizationDecision): string {
  if (error === undefined) return reason;
  return reason === '' ? error.message : `${error.message}: ${reason}`;
}

/** Returns the 403 for attributes that were not allowed. */
export function forbiddenError(attributes: AuthorizationAttributes, reason: string): StatusError {
  const why = refusalText(attributes, reason);
  if (attributes.type === 'path') {
    return new StatusError({ code: 403, reason: 'Forbidden', message: `forbidden: ${why}`, details: {} });
  }
  return forbidden({ group: attributes.group, resource: attributes.resource }, attributes.name, why);
}

/** Returns a text that names the user, the forbidden action and, if the authorizer gives one, the reason. */
export function refusalText(attributes: AuthorizationAttributes, reason: string): string {
  const message = withoutMarkup(forbiddenMessage(attributes));
  return reason === '' ? message : `${message}: ${reason}`;
}

/**
 * Escapes text from a client, so that it cannot be displayed as HTML. Source: responsewriters/errors.go (sanitizer).
 */
export function withoutMarkup(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

function forbiddenMessage(attributes: AuthorizationAttributes): string {
  const who = `User ${goQuote(attributes.user.name)} cannot ${attributes.verb}`;
  if (attributes.type === 'path') return `${who} path ${goQuote(attributes.path)}`;
  const { subresource, namespace } = attributes;
  const resource = subresource === '' ? attributes.resource : `${attributes.resource}/${subresource}`;
  const where = namespace === '' ? 'at the cluster scope' : `in the namespace ${goQuote(namespace)}`;
  return `${who} resource ${goQuote(resource)} in API group ${goQuote(attributes.group)} ${where}`;
}
