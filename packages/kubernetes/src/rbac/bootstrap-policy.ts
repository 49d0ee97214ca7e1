// The bootstrap roles and bindings of Kubernetes 1.36, which every server keeps in its store and updates at each start.
// Source: pkg/registry/rbac/rest (ensureRBACPolicy), plugin/pkg/auth/authorizer/rbac/bootstrappolicy.
import {
  isAlreadyExists,
  isConflict,
  isNotFound,
  type KubernetesObject,
  metaNamespaceKey,
  type ObjectMeta,
  type Resource,
  type ResourceClient,
} from '@kapstan/api';
import { rbacPolicyFacts } from '@kapstan/kinds/facts';
import { ClusterRole, ClusterRoleBinding, Role, RoleBinding } from '@kapstan/kinds/rbac.authorization.k8s.io/v1';
import type { ObjectCreator, OwnObjectWriters } from '../builtin/prepared-objects.ts';
import { reconciledBinding, reconciledRole } from './role-reconciliation.ts';

/** Attempts per object, because others may write at the same time. */
const maxAttempts = 4;

/** Returns the object to write in place of the present one. */
type Reconcile<T> = (present: T, expected: T) => T | 'recreate' | undefined;

/**
 * Creates missing objects and completes present ones. An object whose annotation
 * `rbac.authorization.kubernetes.io/autoupdate` is "false" is not changed. The namespaces of the roles must exist. It
 * tries every object before it rejects with the first failure. Missing objects are created by `creator`.
 */
export async function reconcileBootstrapPolicy(client: ResourceClient, creator: ObjectCreator = client): Promise<void> {
  const writers = { client, creator };
  const { clusterRoles, clusterRoleBindings, roles, roleBindings } = rbacPolicyFacts();
  await takeOverOldRoles(client);
  const results = await Promise.all([
    bringAll(writers, ClusterRole, { expected: clusterRoles, reconcile: reconciledRole }),
    bringAll(writers, Role, { expected: roles, reconcile: reconciledRole }),
    bringAll(writers, ClusterRoleBinding, { expected: clusterRoleBindings, reconcile: reconciledBinding }),
    bringAll(writers, RoleBinding, { expected: roleBindings, reconcile: reconciledBinding }),
  ]);
  for (const result of results.flat()) if (result.status === 'rejected') throw result.reason;
}

/** Returns one result per object. Present ones are listed once, because usually there is nothing to do at a start. */
async function bringAll<T extends KubernetesObject>(
  writers: OwnObjectWriters,
  kind: Resource<T>,
  { expected, reconcile }: { readonly expected: readonly unknown[]; readonly reconcile: Reconcile<T> },
): Promise<readonly PromiseSettledResult<void>[]> {
  const present = new Map<string, T>();
  for await (const object of writers.client.list(kind)) present.set(metaNamespaceKey(object), object as T);
  const bring = (object: T): Promise<void> =>
    new BootstrapObject(writers, kind, { expected: object, reconcile }).bring(present.get(metaNamespaceKey(object)));
  return Promise.allSettled((expected as readonly T[]).map(bring));
}

class BootstrapObject<T extends KubernetesObject> {
  readonly #writers: OwnObjectWriters;
  readonly #kind: Resource<T>;
  readonly #expected: T;
  readonly #reconcile: Reconcile<T>;

  constructor(
    writers: OwnObjectWriters,
    kind: Resource<T>,
    { expected, reconcile }: { readonly expected: T; readonly reconcile: Reconcile<T> },
  ) {
    this.#writers = writers;
    this.#kind = kind;
    this.#expected = expected;
    this.#reconcile = reconcile;
  }

  /** `known`: the object read before; undefined when there was none. */
  async bring(known: T | undefined): Promise<void> {
    let present = known;
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#write(present);
      } catch (error) {
        const isRaced = isAlreadyExists(error) || isConflict(error) || isNotFound(error);
        if (!isRaced || attempt >= maxAttempts) throw error;
      }
      present = await presentOrNone(this.#writers.client.get(this.#kind, targetOf(this.#expected)));
    }
  }

  async #write(present: T | undefined): Promise<void> {
    const { client, creator } = this.#writers;
    const next = present === undefined ? 'create' : this.#reconcile(present, this.#expected);
    if (next === undefined) return;
    if (next === 'recreate') {
      const uid = present?.metadata?.uid;
      const preconditions = uid === undefined ? {} : { preconditions: { uid } };
      await presentOrNone(client.delete(this.#kind, targetOf(this.#expected), preconditions));
    }
    // The client keeps nothing of what it is given, so the shared facts need no copy.
    if (next === 'create' || next === 'recreate') await creator.create(this.#kind, this.#expected);
    else await client.update(this.#kind, next);
  }
}

/**
 * Roles that may have been edited in clusters older than 1.9, when they were not aggregated yet. Source:
 * ClusterRolesToAggregate.
 */
const gatheredFrom = [
  ['admin', 'system:aggregate-to-admin'],
  ['edit', 'system:aggregate-to-edit'],
  ['view', 'system:aggregate-to-view'],
] as const;

/**
 * Before 1.14 the binding `from` also granted the rights that `to` grants now. Changes of its subjects are copied to
 * the new binding. Source: ClusterRoleBindingsToSplit.
 */
const split = { from: 'system:discovery', to: 'system:public-info-viewer' } as const;

async function takeOverOldRoles(client: ResourceClient): Promise<void> {
  for (const [from, to] of gatheredFrom) {
    const old = await presentOrNone(client.get(ClusterRole, { name: from }));
    if (old === undefined || old.aggregationRule !== undefined) continue;
    await createMissing(client, ClusterRole, { ...old, metadata: renamed(old.metadata, to) });
  }
  const old = await presentOrNone(client.get(ClusterRoleBinding, { name: split.from }));
  if (old === undefined) return;
  const roleRef = { ...old.roleRef, name: split.to };
  await createMissing(client, ClusterRoleBinding, { ...old, roleRef, metadata: renamed(old.metadata, split.to) });
}

async function createMissing<T extends KubernetesObject>(
  client: ResourceClient,
  kind: Resource<T>,
  object: T,
): Promise<void> {
  if ((await presentOrNone(client.get(kind, targetOf(object)))) !== undefined) return;
  await client.create(kind, object).catch((error: unknown) => {
    if (!isAlreadyExists(error)) throw error;
  });
}

function renamed({ labels, annotations }: ObjectMeta = {}, name: string): ObjectMeta {
  return { name, ...(labels !== undefined && { labels }), ...(annotations !== undefined && { annotations }) };
}

function targetOf({ metadata }: KubernetesObject): { readonly name: string; readonly namespace?: string } {
  const { name = '', namespace } = metadata ?? {};
  return { name, ...(namespace !== undefined && { namespace }) };
}

async function presentOrNone<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}
