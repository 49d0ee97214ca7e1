// The Authorizer of --authorization-mode=RBAC: allows what roles and bindings grant, has no opinion on all else.
// Source: plugin/pkg/auth/authorizer/rbac.
import type { Authorizer, UserRules } from './authorizer.ts';
import { joinErrors, type RbacPolicy } from './rbac-policy.ts';
import { type Rule, ruleAllows } from './rule-matching.ts';

/** Sees each change of the policy at once. */
export function rbacAuthorizer(policy: RbacPolicy): Authorizer {
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
      const { rules, errors } = policy.rulesOf(user, namespace);
      return { ...userRules(rules), ...(errors.length === 0 ? {} : { evaluationError: joinErrors(errors) }) };
    },
  };
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
