// BindingIndex holds the bindings of one namespace, or of the cluster, by subject. It belongs to rbac-policy.ts. A
// request needs only the bindings of its user and groups, however many others there are.
import type { DeepReadonly } from '@kapstan/api';
import type { UserInfo } from '@kapstan/apiserver';
import type { RoleBinding, Subject } from '@kapstan/kinds/rbac.authorization.k8s.io/v1';

/** A binding of the cluster or of a namespace; both have the same form. */
export type Binding = DeepReadonly<RoleBinding>;

/** A binding that applies to the user, and the first of its subjects that matches. */
export interface BindingMatch {
  readonly binding: Binding;
  readonly subject: DeepReadonly<Subject>;
}

export class BindingIndex {
  readonly #namespace: string;
  readonly #byName = new Map<string, Binding>();
  readonly #bySubject = new Map<string, Map<string, Binding>>();

  /** `namespace` is the namespace of the bindings; "" for ClusterRoleBindings. */
  constructor(namespace: string) {
    this.#namespace = namespace;
  }

  get isEmpty(): boolean {
    return this.#byName.size === 0;
  }

  set(binding: Binding): void {
    const name = nameOf(binding);
    this.delete(name);
    this.#byName.set(name, binding);
    for (const key of this.#keysOf(binding)) {
      const bindings = this.#bySubject.get(key);
      if (bindings === undefined) this.#bySubject.set(key, new Map([[name, binding]]));
      else bindings.set(name, binding);
    }
  }

  delete(name: string): void {
    const binding = this.#byName.get(name);
    if (binding === undefined) return;
    this.#byName.delete(name);
    for (const key of this.#keysOf(binding)) {
      const bindings = this.#bySubject.get(key);
      bindings?.delete(name);
      if (bindings?.size === 0) this.#bySubject.delete(key);
    }
  }

  /** Returns the matches sorted by name, so that of several matches the same one is always named as the reason. */
  matching(user: UserInfo): readonly BindingMatch[] {
    const keys = [userKey(user.name), ...user.groups.map(groupKey)];
    const found = new Map<string, Binding>();
    for (const key of keys) {
      for (const [name, binding] of this.#bySubject.get(key) ?? []) found.set(name, binding);
    }
    const names = [...found.keys()].sort();
    return names.flatMap((name) => {
      const binding = found.get(name) as Binding;
      const subject = binding.subjects?.find((each) => keys.includes(this.#keyOf(each) ?? ''));
      return subject === undefined ? [] : [{ binding, subject }];
    });
  }

  #keysOf(binding: Binding): readonly string[] {
    return (binding.subjects ?? []).flatMap((subject) => this.#keyOf(subject) ?? []);
  }

  /** Returns undefined for a subject that matches nobody. A service account is matched by its user name. */
  #keyOf({ kind, name, namespace }: DeepReadonly<Subject>): string | undefined {
    if (kind === 'User') return userKey(name);
    if (kind === 'Group') return groupKey(name);
    const home = namespace || this.#namespace;
    if (kind !== 'ServiceAccount' || home === '') return undefined;
    return userKey(`system:serviceaccount:${home}:${name}`);
  }
}

export function nameOf(object: { readonly metadata?: { readonly name?: string } }): string {
  return object.metadata?.name ?? '';
}

function userKey(name: string): string {
  return `user ${name}`;
}

function groupKey(name: string): string {
  return `group ${name}`;
}
