// Authorizers for tests: over the roles that every server has, or over a few given ones.
import type { KubernetesObject } from '@kapstan/api';
import type { UserInfo } from '@kapstan/apiserver';
import {
  AdmissionChain,
  type AdmissionPlugin,
  type Authorizer,
  alwaysAllow,
  FieldManager,
  InProcessClient,
  mastersAuthorizer,
  objectPatching,
  ResourceCatalog,
  ResourceStack,
  rbacAuthorizer,
  unionAuthorizer,
} from '@kapstan/apiserver';
import { type OpenEngine, StoreFixture } from '@kapstan/apiserver/testing';
import { rbacPolicyFacts } from '@kapstan/kinds/facts';
import { builtinResources } from '../builtin-resources.ts';
import { guardEscalation } from '../rbac/escalation-guard.ts';
import { type RbacKind, RbacPolicy } from '../rbac/rbac-policy.ts';

export function policyOf(objects: readonly unknown[]): RbacPolicy {
  const policy = new RbacPolicy();
  for (const object of objects as readonly KubernetesObject[]) policy.set(object.kind as RbacKind, object);
  return policy;
}

/** Returns the authorizer of a server with the default roles only. */
export function defaultAuthorizer(): Authorizer {
  const { clusterRoles, clusterRoleBindings, roles, roleBindings } = rbacPolicyFacts();
  const policy = policyOf([...clusterRoles, ...clusterRoleBindings, ...roles, ...roleBindings]);
  return unionAuthorizer([mastersAuthorizer, rbacAuthorizer(policy)]);
}

/** Serves the four resources of RBAC over a real engine, guarded by the authorizer, with clients for any user. */
export async function openRbacServer(
  openEngine: OpenEngine,
  authorizer: Authorizer,
  plugins: readonly AdmissionPlugin[] = [],
): Promise<{
  client(user?: UserInfo): InProcessClient;
  close(): Promise<void>;
}> {
  const fixture = await StoreFixture.open(openEngine);
  const definitions = builtinResources().filter(({ group }) => group === 'rbac.authorization.k8s.io');
  const catalog = new ResourceCatalog();
  const admission = new AdmissionChain({ catalog, authorizer: alwaysAllow, plugins });
  const stacks = definitions.map(
    (definition) => new ResourceStack(definition, { engine: fixture.engine, freeze: true, admission }),
  );
  await Promise.all(stacks.map((stack) => stack.waitUntilReady()));
  const findStore = (resource: string) =>
    stacks.find(({ served }) => served.definition.resource === resource)?.served.store;
  for (const { served } of stacks) catalog.install(guardEscalation(served, { authorizer, findStore }));
  const patching = objectPatching(new FieldManager({ clock: fixture.clock }));
  return {
    client: (user) => new InProcessClient({ catalog, patching, user }),
    close: async () => {
      await Promise.all(stacks.map((stack) => stack.close()));
      await fixture.close();
    },
  };
}
