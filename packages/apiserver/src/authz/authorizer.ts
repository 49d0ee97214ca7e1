// The Authorizer port and its refusal. Implemented by masters-authorizer.ts and rbac-authorizer.ts. Source: apiserver
// pkg/authorization/authorizer, responsewriters.Forbidden.

import { StatusError } from '@kapstan/api';
import { forbidden } from '@kapstan/api/errors';
import { type FieldRequirement, goQuote, type LabelRequirement } from '@kapstan/api/internal';
import { firstDecision, type MaybePromise } from '../registry/definition/first-decision.ts';
import type { UserInfo } from '../registry/definition/request-context.ts';

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
  /** Why some terms, or the whole selector, could not be read. */
  readonly error?: Error;
}

/** The answer of an authorizer. "noOpinion" lets the next one decide; from the last one it is a refusal. */
export interface AuthorizationDecision {
  readonly decision: 'allow' | 'deny' | 'noOpinion';
  /** Reason for the decision, shown to the client in a refusal. "" = no reason. */
  readonly reason: string;
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
  readonly evaluationError?: string;
}

export interface Authorizer {
  authorize(attributes: AuthorizationAttributes): MaybePromise<AuthorizationDecision>;
  /** Returns the rules for SelfSubjectRulesReview. Absent = they cannot be listed. Source: authorizer.RuleResolver. */
  rulesFor?(user: UserInfo, namespace: string): UserRules | Promise<UserRules>;
}

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

/** Asks the authorizers in turn; the first opinion counts. */
export function unionAuthorizer(authorizers: readonly Authorizer[]): Authorizer {
  return {
    authorize: (attributes) => {
      const reasons: string[] = [];
      return firstDecision<Authorizer, AuthorizationDecision, AuthorizationDecision>(authorizers, {
        ask: (authorizer) => authorizer.authorize(attributes),
        decide: (answer) => {
          if (answer.decision !== 'noOpinion') return answer;
          if (answer.reason !== '') reasons.push(answer.reason);
          return undefined;
        },
        otherwise: () => ({ decision: 'noOpinion', reason: reasons.join('\n') }),
      });
    },
    rulesFor: async (user, namespace) => {
      const all = await Promise.all(authorizers.map((authorizer) => authorizer.rulesFor?.(user, namespace)));
      const errors = all.flatMap((rules) => rules?.evaluationError ?? []);
      return {
        resourceRules: all.flatMap((rules) => rules?.resourceRules ?? []),
        nonResourceRules: all.flatMap((rules) => rules?.nonResourceRules ?? []),
        incomplete: all.some((rules) => rules?.incomplete ?? true),
        ...(errors.length === 0 ? {} : { evaluationError: errors.join(', ') }),
      };
    },
  };
}

/** Returns the 403 for attributes that were not allowed. */
export function forbiddenError(attributes: AuthorizationAttributes, reason: string): StatusError {
  const why = refusalText(attributes, reason);
  if (attributes.type === 'path') {
    return new StatusError({ code: 403, reason: 'Forbidden', message: `forbidden: ${why}`, details: {} });
  }
  return forbidden({ group: attributes.group, resource: attributes.resource }, attributes.name, why);
}

/** Returns who may not do what and, if the authorizer gives one, the reason. */
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
