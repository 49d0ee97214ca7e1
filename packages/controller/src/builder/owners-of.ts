// ownersOf maps an object to the keys of its owners. It is the mapping of the builder's owns(), for use with watches().
// Source: controller-runtime handler.EnqueueRequestForOwner.

import type { DeepReadonly, KubernetesObject, ObjectTarget, Resource } from '@kapstan/api';
import {
  type OptionTable,
  optional,
  requireBoolean,
  requireObject,
  requireOptions,
  requireResource,
} from '@kapstan/api/internal';

/** Options of {@link ownersOf}. */
export interface OwnersOfOptions {
  /** True = only the owner that controls the object counts, as with `owns()`. Default false: every owner does. */
  readonly isController?: boolean;
}

const table: OptionTable<OwnersOfOptions> = { isController: optional(requireBoolean) };

/**
 * Returns a mapping for `watches()` that names the owners of a kind. Owners count by group and kind, whatever the
 * version. Throws TypeError unless given a resource.
 *
 *     controller(Team).watches(Pod, ownersOf(Team))
 */
export function ownersOf(
  resource: Resource,
  options: OwnersOfOptions = {},
): (object: DeepReadonly<KubernetesObject>) => readonly ObjectTarget[] {
  requireResource(resource, 'ownersOf()');
  requireObject(options, 'options of ownersOf(), such as { isController: true },');
  requireOptions(options, table, 'ownersOf()');
  const { isController = false } = options;
  return ({ metadata }) =>
    (metadata?.ownerReferences ?? [])
      .filter((owner) => owner.kind === resource.kind && groupOf(owner.apiVersion) === resource.group)
      .filter(({ controller }) => !isController || controller === true)
      .map(({ name }) => (resource.scope === 'Cluster' ? { name } : { namespace: metadata?.namespace ?? '', name }));
}

/**
 * Returns whether the object names the owner, by its uid, as the one that controls it. Source: apimachinery
 * metav1.IsControlledBy.
 *
 * @example
 * ```ts
 * import { connect } from '@kapstan/client';
 * import { isControlledBy } from '@kapstan/controller';
 * import { Deployment, ReplicaSet } from '@kapstan/kinds/apps/v1';
 *
 * const client = await connect();
 * const owner = await client.get(Deployment, { name: 'web', namespace: 'default' });
 * const sets = await client.list(ReplicaSet, { namespace: 'default' });
 * console.log(sets.filter((set) => isControlledBy(set, owner)).length);
 * ```
 */
export function isControlledBy(object: DeepReadonly<KubernetesObject>, owner: DeepReadonly<KubernetesObject>): boolean {
  const { ownerReferences = [] } = object.metadata ?? {};
  const uid = owner.metadata?.uid;
  return (
    uid !== undefined && ownerReferences.some((reference) => reference.controller === true && reference.uid === uid)
  );
}

const groupOf = (apiVersion: string): string | undefined => (apiVersion.includes('/') ? apiVersion.split('/')[0] : '');
