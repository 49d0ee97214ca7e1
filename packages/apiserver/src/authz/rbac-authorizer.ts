// The Authorizer of --authorization-mode=RBAC: it allows granted requests and has no opinion on others. Grants come
// through the port RuleSource, from stored roles and bindings or from a list in the program (rule-list.ts). Source:
// plugin/pkg/auth/authorizer/rbac.
import type { UserInfo } from '../registry/definition/request-context.ts';
import type { Authorizer, UserRules } from './authorizer.ts';
import { type Rule, ruleAllows } from './rule-matching.ts';

/** Rules granted by one binding, or the error of finding them. */
export type Grant =
  | { readonly rules: readonly Rule[]; source(): string; readonly error?: undefined }
  | { readonly error: string };

/** The source of the rules of RBAC. */
export interface RuleSource {
  /**
   * Yields the rules that grant rights to the user in the cluster, then in the namespace ("" = none). Called for every
   * request.
   */
  grantsOf(user: UserInfo, namespace: string): Iterable<Grant>;
}

/** Returns an authorizer that sees each change of the policy at once. */
export function rbacAuthorizer(policy: RuleSource): Authorizer {
  return {
    authorize: (attributes) => {
      const errors: string[] = [];
      const namespace = attributes.type === 'resource' ? attributes.namespace : '';
      for (const grant of policy.grantsOf(attributes.user, namespace)) {
        if (grant.error !== undefined) errors.push(grant.error);
        else if (grant.rules.some((rule) => ruleAllows(rule, attributes))) {
          return { decision: 'allow', reason: `RBAC: allowed by ${grant.source()}` };
        }
      }
      return { decision: 'noOpinion', reason: errors.length === 0 ? '' : `RBAC: ${joinErrors(errors)}` };
    },
    rulesFor: (user, namespace) => {
      const { rules, errors } = rulesOf(policy, user, namespace);
      return { ...userRules(rules), ...(errors.length === 0 ? {} : { evaluationError: joinErrors(errors) }) };
    },
  };
}

/** Returns all rules of a user, and the errors met meanwhile. */
export function rulesOf(
  policy: RuleSource,
  user: UserInfo,
  namespace: string,
): { readonly rules: readonly Rule[]; readonly errors: readonly string[] } {
  const grants = [...policy.grantsOf(user, namespace)];
  return {
    rules: grants.flatMap((grant) => (grant.error === undefined ? grant.rules : [])),
    errors: grants.flatMap((grant) => grant.error ?? []),
  };
}

/** Joins errors as Go does: each text once. Source: util/errors Aggregate. */
export function joinErrors(errors: readonly string[]): string {
  const texts = [...new Set(errors)];
  return texts.length === 1 ? (texts[0] ?? '') : `[${texts.join(', ')}]`;
}

function userRules(rules: readonly Rule[]): UserRules {
  return {
    resourceRules: rules
      .filter(({ resources = [] }) => resources.length > 0)
      .map(({ verbs, apiGroups = [], resources = [], resourceNames }) => ({
        verbs,
        apiGroups,
        resources,
        ...(resourceNames === undefined ? {} : { resourceNames }),
      })),
    nonResourceRules: rules
      .filter(({ nonResourceURLs = [] }) => nonResourceURLs.length > 0)
      .map(({ verbs, nonResourceURLs = [] }) => ({ verbs, nonResourceURLs })),
    incomplete: false,
  };
}
