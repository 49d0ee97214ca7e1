// Allows everything to members of system:masters. It is asked before all modes, so that nobody can lock themselves out
// by deleting roles. Source: apiserver authorizerfactory.NewPrivilegedGroups.
import type { Authorizer } from './authorizer.ts';

/** Members of this group may do everything. */
export const mastersGroup = 'system:masters';

/** Lists no rules; in RBAC they come from the role cluster-admin. */
export const mastersAuthorizer: Authorizer = {
  authorize: ({ user }) => ({ decision: user.groups.includes(mastersGroup) ? 'allow' : 'noOpinion', reason: '' }),
  rulesFor: () => ({ resourceRules: [], nonResourceRules: [], incomplete: false }),
};
