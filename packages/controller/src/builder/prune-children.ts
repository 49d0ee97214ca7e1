// pruneChildren deletes children of a reconciled object that its run no longer wants, for ctx.prune. observed-client.ts
// reports the objects that the run wrote to WantedObjects.

import {
  type DeepReadonly,
  isNotFound,
  type KubernetesObject,
  type ObjectTarget,
  objectKey,
  type Resource,
  type ResourceClient,
} from '@kapstan/api';
import { type OptionTable, optional, requireBoolean, requireObject, requireOptions } from '@kapstan/api/internal';
import { targetOf } from './finalizer.ts';

/** Options of `ctx.prune`. */
export interface PruneOptions {
  /** True = nothing is deleted, and the list shows what would be. Default false. */
  readonly dryRun?: boolean;
}

/** The objects that one run wrote, or found as it wants them. */
export class WantedObjects {
  readonly #keys = new Set<string>();

  readonly add = (resource: Resource, target: ObjectTarget): void => void this.#keys.add(keyOf(resource, target));

  has(resource: Resource, target: ObjectTarget): boolean {
    return this.#keys.has(keyOf(resource, target));
  }
}

interface PruneParts<C extends KubernetesObject> {
  readonly client: ResourceClient;
  readonly kind: Resource<C>;
  readonly children: readonly DeepReadonly<C>[];
  readonly wanted: WantedObjects;
}

const table: OptionTable<PruneOptions> = { dryRun: optional(requireBoolean) };

/**
 * Returns the deleted children, or those that would be deleted. Each is deleted in the cached version; rejects with 409
 * for one that was changed since.
 */
export async function pruneChildren<C extends KubernetesObject>(
  { client, kind, children, wanted }: PruneParts<C>,
  options: PruneOptions,
): Promise<readonly DeepReadonly<C>[]> {
  requireObject(options, 'options of prune(), such as { dryRun: true },');
  requireOptions(options, table, 'prune()');
  const unwanted = children.filter((child) => {
    const object = child as DeepReadonly<KubernetesObject>;
    return object.metadata?.deletionTimestamp === undefined && !wanted.has(kind, targetOf(object));
  });
  if (options.dryRun === true) return unwanted;
  const pruned: DeepReadonly<C>[] = [];
  for (const child of unwanted) if (await deleteAsSeen(client, kind, child)) pruned.push(child);
  return pruned;
}

/** Returns false when it is gone already and the cache does not know yet. */
async function deleteAsSeen<C extends KubernetesObject>(
  client: ResourceClient,
  resource: Resource<C>,
  child: DeepReadonly<C>,
): Promise<boolean> {
  const object = child as DeepReadonly<KubernetesObject>;
  const { uid = '', resourceVersion = '' } = object.metadata ?? {};
  try {
    await client.delete(resource, targetOf(object), {
      preconditions: { uid, resourceVersion },
      propagationPolicy: 'Background',
    });
    return true;
  } catch (error) {
    if (isNotFound(error)) return false;
    throw error;
  }
}

/** All versions of a kind have the same objects, so the key contains no version. */
const keyOf = ({ group, plural, scope }: Resource, { namespace = '', name }: ObjectTarget): string =>
  `${plural}.${group} ${objectKey(scope === 'Cluster' ? '' : namespace, name)}`;
