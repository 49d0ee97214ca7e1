// Authorizers for tests: over the roles that every server has, or over a few of one's own.
import type { KubernetesObject } from '@kapstan/api';
import { rbacPolicyFacts } from '@kapstan/kinds/facts';
import { type Authorizer, unionAuthorizer } from '../authz/authorizer.ts';
import { mastersAuthorizer } from '../authz/masters-authorizer.ts';
import { rbacAuthorizer } from '../authz/rbac-authorizer.ts';
import { type RbacKind, RbacPolicy } from '../authz/rbac-policy.ts';

export function policyOf(objects: readonly unknown[]): RbacPolicy {
  const policy = new RbacPolicy();
  for (const object of objects as readonly KubernetesObject[]) policy.set(object.kind as RbacKind, object);
  return policy;
}

/** That of a server on which nobody has made a role. */
export function defaultAuthorizer(): Authorizer {
  const { clusterRoles, clusterRoleBindings, roles, roleBindings } = rbacPolicyFacts();
  const policy = policyOf([...clusterRoles, ...clusterRoleBindings, ...roles, ...roleBindings]);
  return unionAuthorizer([mastersAuthorizer, rbacAuthorizer(policy)]);
}
