// rolesOf: roles of RBAC with the rights of controllers, and the bindings that give them to a service account. Used by tools that write
// manifests, and by tests that run a controller with only these rights.
import { deepCopy, type ObjectMeta } from '@kapstan/api';
import { ClusterRole, ClusterRoleBinding, Role, RoleBinding } from '@kapstan/kinds/rbac.authorization.k8s.io/v1';
import type { Right } from './right.ts';

/** One rule of a role, and the declarations from which it follows. */
export interface RoleRule {
  readonly apiGroups: readonly [string];
  readonly resources: readonly [string];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
  /** The reasons, for people; they are not part of the object. */
  readonly why: readonly string[];
}

/** A role, and for each rule the declarations from which it follows. */
export interface RoleWithReasons {
  /** Absent = a ClusterRole. */
  readonly namespace?: string;
  readonly rules: readonly RoleRule[];
}

/** A ServiceAccount by name and namespace. */
export interface ServiceAccountName {
  readonly name: string;
  readonly namespace: string;
}

/** Options of {@link rolesOf}: the name of the roles, and their service account. */
export interface RoleOptions {
  /** Name of each role and binding. */
  readonly name: string;
  /** Absent: no bindings. */
  readonly serviceAccount?: ServiceAccountName | undefined;
}

/**
 * Puts rights into one ClusterRole and a Role for each namespace, sorted; rights of the ClusterRole are not repeated. Throws TypeError for
 * an empty list of names, which in a rule means all objects.
 */
export function roleRules(rights: readonly Right[]): readonly RoleWithReasons[] {
  const cluster = rulesOf(rights.filter(({ namespace }) => namespace === undefined));
  const namespaces = [...new Set(rights.flatMap(({ namespace }) => namespace ?? []))].sort();
  const roles = namespaces.map((namespace) => {
    const rules = rulesOf(rights.filter((right) => right.namespace === namespace));
    return { namespace, rules: rules.filter((rule) => !cluster.some((other) => covers(other, rule))) };
  });
  return [{ rules: cluster }, ...roles].filter(({ rules }) => rules.length > 0);
}

/** Makes one rule for each resource and set of names, because such rules are easy to read and to compare. */
function rulesOf(rights: readonly Right[]): readonly RoleRule[] {
  const rules = new Map<string, RoleRule>();
  for (const { group, resource, names, verbs, why } of rights) {
    if (names?.length === 0) throw new TypeError(`the right on ${resource} (${why}) has an empty list of names`);
    const resourceNames = names && { resourceNames: [...new Set(names)].sort() };
    const key = JSON.stringify([group, resource, resourceNames]);
    const before = rules.get(key);
    rules.set(key, {
      apiGroups: [group],
      resources: [resource],
      ...resourceNames,
      verbs: [...new Set([...(before?.verbs ?? []), ...verbs])].sort(byVerb),
      why: [...new Set([...(before?.why ?? []), why])],
    });
  }
  const sorted = [...rules].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, rule]) => rule);
  return sorted.filter((rule) => !sorted.some((other) => other !== rule && covers(other, rule)));
}

const verbOrder = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection'];

function byVerb(a: string, b: string): number {
  const [one, other] = [verbOrder.indexOf(a), verbOrder.indexOf(b)];
  if (one < 0 || other < 0) return one === other ? (a < b ? -1 : 1) : other - one;
  return one - other;
}

/** True when the first rule allows all that the second one does. */
function covers(one: RoleRule, other: RoleRule): boolean {
  const isSame = one.apiGroups[0] === other.apiGroups[0] && one.resources[0] === other.resources[0];
  const hasNames =
    one.resourceNames === undefined ||
    (other.resourceNames?.every((name) => one.resourceNames?.includes(name)) ?? false);
  return isSame && hasNames && other.verbs.every((verb) => one.verbs.includes(verb));
}

/** An object of `rbac.authorization.k8s.io/v1`, as `kapstan generate rbac` writes it. */
export type RbacObject = ClusterRole | ClusterRoleBinding | Role | RoleBinding;

/** Returns the roles with their bindings, in a fixed order. */
export function rolesOf(rights: readonly Right[], options: RoleOptions): readonly RbacObject[] {
  return roleRules(rights).flatMap((role) => [roleObject(role, options), ...bindingOf(role, options)]);
}

/** Returns the Role or ClusterRole with these rules. */
export function roleObject({ namespace, rules }: RoleWithReasons, { name }: RoleOptions): Role | ClusterRole {
  const kind = namespace === undefined ? ClusterRole : Role;
  return {
    apiVersion: `${kind.group}/${kind.version}`,
    kind: kind.kind,
    metadata: metadataOf(name, namespace),
    rules: rules.map(({ why: _why, ...rule }) => deepCopy(rule)),
  };
}

function metadataOf(name: string, namespace: string | undefined): ObjectMeta {
  return namespace === undefined ? { name } : { name, namespace };
}

/** Returns the binding of a role to the service account, if there is one. */
export function bindingOf(
  { namespace }: Pick<RoleWithReasons, 'namespace'>,
  { name, serviceAccount }: RoleOptions,
): readonly (RoleBinding | ClusterRoleBinding)[] {
  if (serviceAccount === undefined) return [];
  const kind = namespace === undefined ? ClusterRoleBinding : RoleBinding;
  return [
    {
      apiVersion: `${kind.group}/${kind.version}`,
      kind: kind.kind,
      metadata: metadataOf(name, namespace),
      roleRef: { apiGroup: kind.group, kind: namespace === undefined ? 'ClusterRole' : 'Role', name },
      subjects: [{ kind: 'ServiceAccount', ...serviceAccount }],
    },
  ];
}
