// Members of system:masters may do everything, whatever the modes behind say: asked first, so that nobody can lock
// himself out by deleting roles. Source: apiserver authorizerfactory.NewPrivilegedGroups.
import type { Authorizer } from './authorizer.ts';

export const mastersGroup = 'system:masters';

/** Its rules are not listed here: of RBAC they are those of the role cluster-admin. */
export const mastersAuthorizer: Authorizer = {
  authorize: ({ user }) => ({ decision: user.groups.includes(mastersGroup) ? 'allow' : 'noOpinion', reason: '' }),
  rulesFor: () => ({ resourceRules: [], nonResourceRules: [], incomplete: false }),
};
