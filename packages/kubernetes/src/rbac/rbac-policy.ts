// RbacPolicy holds all known roles and bindings, and the permissions that they grant to a user. It is plain synchronous state:
// caches fill the one that decides on requests (apiserver/src/authz/rbac-authorizer.ts), the store fills the one that checks
// granted permissions (escalation-guard.ts). Source: pkg/registry/rbac/validation/rule.go.

import { type DeepReadonly, type KubernetesObject, objectKey } from '@kapstan/api';
import { goQuote } from '@kapstan/api/internal';
import type { Grant, RuleSource, UserInfo } from '@kapstan/apiserver';
import type { Rule } from '@kapstan/apiserver/internal';
import type { Role, RoleRef } from '@kapstan/kinds/rbac.authorization.k8s.io/v1';
import { type Binding, BindingIndex, type BindingMatch, nameOf } from './binding-index.ts';

/** The kinds of RBAC. */
export type RbacKind = 'Role' | 'ClusterRole' | 'RoleBinding' | 'ClusterRoleBinding';

/** Options of an {@link RbacPolicy}. */
export interface RbacPolicyOptions {
  /** Returns the error for a missing role that a binding names. Default: the text of client-go's listers. */
  describeMissing?(kind: 'Role' | 'ClusterRole', name: string): string;
}

/** The roles and bindings of a cluster, and the permissions that follow from them. */
export class RbacPolicy implements RuleSource {
  readonly #describeMissing: (kind: 'Role' | 'ClusterRole', name: string) => string;
  readonly #roles = new Map<string, readonly Rule[]>();
  readonly #clusterRoles = new Map<string, readonly Rule[]>();
  #clusterBindings = new BindingIndex('');
  readonly #bindings = new Map<string, BindingIndex>();

  constructor(options: RbacPolicyOptions = {}) {
    this.#describeMissing =
      options.describeMissing ??
      ((kind, name) => `${kind.toLowerCase()}.rbac.authorization.k8s.io ${goQuote(name)} not found`);
  }

  set(kind: RbacKind, object: DeepReadonly<KubernetesObject>): void {
    if (kind === 'ClusterRoleBinding') this.#clusterBindings.set(object as Binding);
    else if (kind === 'RoleBinding') this.#indexOf(namespaceOf(object)).set(object as Binding);
    else this.#rolesOf(kind).set(roleKey(kind, namespaceOf(object), nameOf(object)), (object as Role).rules ?? []);
  }

  /** Replaces all objects of the kind in one step, so that nobody is refused because of a state in between. */
  replace(kind: RbacKind, objects: Iterable<DeepReadonly<KubernetesObject>>): void {
    if (kind === 'ClusterRoleBinding') this.#clusterBindings = new BindingIndex('');
    else if (kind === 'RoleBinding') this.#bindings.clear();
    else this.#rolesOf(kind).clear();
    for (const object of objects) this.set(kind, object);
  }

  delete(kind: RbacKind, object: DeepReadonly<KubernetesObject>): void {
    const namespace = namespaceOf(object);
    const name = nameOf(object);
    if (kind === 'ClusterRoleBinding') this.#clusterBindings.delete(name);
    else if (kind === 'RoleBinding') {
      const index = this.#indexOf(namespace);
      index.delete(name);
      if (index.isEmpty) this.#bindings.delete(namespace);
    } else this.#rolesOf(kind).delete(roleKey(kind, namespace, name));
  }

  /** Yields the rules that grant the user rights in the cluster, then in the namespace ("" = none). */
  *grantsOf(user: UserInfo, namespace: string): Generator<Grant> {
    for (const match of this.#clusterBindings.matching(user)) yield this.#grant(match, '');
    if (namespace === '') return;
    for (const match of this.#bindings.get(namespace)?.matching(user) ?? []) yield this.#grant(match, namespace);
  }

  /**
   * Returns undefined when there is no such role. `namespace` is the binding's namespace; "" for a ClusterRoleBinding.
   */
  roleRules({ kind, name }: DeepReadonly<RoleRef>, namespace: string): readonly Rule[] | undefined {
    if (kind === 'ClusterRole') return this.#clusterRoles.get(name);
    return kind === 'Role' && namespace !== '' ? this.#roles.get(roleKey(kind, namespace, name)) : undefined;
  }

  #grant({ binding, subject }: BindingMatch, namespace: string): Grant {
    const { roleRef } = binding;
    if (roleRef.kind !== 'Role' && roleRef.kind !== 'ClusterRole') {
      return { error: `unsupported role reference kind: ${goQuote(roleRef.kind)}` };
    }
    const rules = this.roleRules(roleRef, namespace);
    if (rules === undefined) return { error: this.#describeMissing(roleRef.kind, roleRef.name) };
    return { rules, source: () => describeMatch({ binding, subject }, namespace) };
  }

  #rolesOf(kind: 'Role' | 'ClusterRole'): Map<string, readonly Rule[]> {
    return kind === 'Role' ? this.#roles : this.#clusterRoles;
  }

  #indexOf(namespace: string): BindingIndex {
    let index = this.#bindings.get(namespace);
    if (index === undefined) {
      index = new BindingIndex(namespace);
      this.#bindings.set(namespace, index);
    }
    return index;
  }
}

function roleKey(kind: 'Role' | 'ClusterRole', namespace: string, name: string): string {
  return kind === 'Role' ? objectKey(namespace, name) : name;
}

function namespaceOf(object: DeepReadonly<KubernetesObject>): string {
  return object.metadata?.namespace ?? '';
}

/** Formats a match for reasons: "RoleBinding "b/ns" of ClusterRole "r" to ServiceAccount "sa/ns"". */
function describeMatch({ binding, subject }: BindingMatch, namespace: string): string {
  const [kind, name] =
    namespace === '' ? ['ClusterRoleBinding', nameOf(binding)] : ['RoleBinding', `${nameOf(binding)}/${namespace}`];
  const { roleRef } = binding;
  const whose = subject.kind === 'ServiceAccount' ? `${subject.name}/${subject.namespace || namespace}` : subject.name;
  const role = `${roleRef.kind} ${goQuote(roleRef.name)}`;
  return `${kind} ${goQuote(name)} of ${role} to ${subject.kind} ${goQuote(whose)}`;
}
