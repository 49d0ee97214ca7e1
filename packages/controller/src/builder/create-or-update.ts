// createOrUpdate brings an object into a wanted form by reading and writing. It is for programs without server-side
// apply (ctx.apply), which does this in one request. It works with any ResourceClient. Source: controller-runtime
// controllerutil.CreateOrUpdate.
import { inspect, isDeepStrictEqual } from 'node:util';
import {
  apiVersionOf,
  type DeepWritable,
  deepCopy,
  isNotFound,
  type KubernetesObject,
  parseJson,
  type Resource,
  type ResourceClient,
  stringifyJson,
  type WriteOptions,
} from '@kapstan/api';
import { requireGivenFunction, requireObject, requireResource, requireTarget } from '@kapstan/api/internal';
import { ObservedClient } from '../cache/observed-client.ts';
import { targetOf } from './finalizer.ts';

/** The wanted object. */
export interface CreateOrUpdateArguments<T extends KubernetesObject> extends WriteOptions {
  /** The object to create if it does not exist; its metadata names the object. It is copied, never changed. */
  readonly object: T;
  /**
   * Changes a copy: of `object` if there is none on the server, otherwise of the server's object. Called once; may be
   * async. Throws TypeError when it changes name or namespace.
   */
  readonly mutate: (object: DeepWritable<T>) => void | Promise<void>;
}

/** The action that was taken, and the resulting object. */
export interface CreateOrUpdateResult<T extends KubernetesObject> {
  readonly result: 'created' | 'updated' | 'unchanged';
  readonly object: T;
}

/**
 * Reads the object, calls `mutate`, and creates or updates it; writes nothing when nothing has changed. Rejects with
 * 409 when somebody else wrote in between; a reconcile should let this error pass. Writes only the object itself, not
 * its status if that is a subresource. Throws TypeError for wrong arguments.
 *
 * @example
 * ```ts
 * import { connect } from '@kapstan/client';
 * import { createOrUpdate } from '@kapstan/controller';
 * import { ConfigMap } from '@kapstan/kinds/core/v1';
 *
 * const { result } = await createOrUpdate<ConfigMap>(await connect(), ConfigMap, {
 *   object: { metadata: { name: 'settings', namespace: 'default' } },
 *   mutate: (map) => {
 *     map.data = { ...map.data, mode: 'fast' };
 *   },
 * });
 * console.log(result); // created, updated or unchanged
 * ```
 */
export async function createOrUpdate<T extends KubernetesObject>(
  client: ResourceClient,
  resource: Resource<T>,
  { object, mutate, ...options }: CreateOrUpdateArguments<T>,
): Promise<CreateOrUpdateResult<T>> {
  requireResource(resource, 'createOrUpdate()');
  requireObject(object, 'object');
  requireTarget(object.metadata);
  requireGivenFunction(mutate, 'mutate');
  const target = targetOf(object);
  const change = async (given: T): Promise<T> => {
    const changed = deepCopy(given);
    await mutate(changed);
    requireSameName(given, changed as T, resource);
    return changed as T;
  };
  const present = await getIfThere(client, resource, { target, options });
  if (present === undefined) {
    const wanted = await change({ ...object, apiVersion: apiVersionOf(resource), kind: resource.kind });
    return { result: 'created', object: await client.create(resource, wanted, options) };
  }
  const wanted = await change(present);
  if (isSameJson(present, wanted)) {
    // The object is wanted although it was not written, so ctx.prune must not delete it.
    if (client instanceof ObservedClient) client.keep(resource, target);
    return { result: 'unchanged', object: present };
  }
  return { result: 'updated', object: await client.update(resource, wanted, options) };
}

async function getIfThere<T extends KubernetesObject>(
  client: ResourceClient,
  resource: Resource<T>,
  { target, options }: { readonly target: ReturnType<typeof targetOf>; readonly options: WriteOptions },
): Promise<T | undefined> {
  const { signal, timeoutMs } = options;
  try {
    return await client.get(resource, target, {
      signal,
      timeoutMs,
    });
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

function requireSameName(before: KubernetesObject, after: KubernetesObject, resource: Resource): void {
  const [was, is] = [before, after].map(({ metadata }) => ({ namespace: metadata?.namespace, name: metadata?.name }));
  if (isDeepStrictEqual(was, is)) return;
  throw new TypeError(
    `mutate() may not change the name or the namespace of ${resource.kind} ${was?.name}: they are ${inspect(is)} now`,
  );
}

/** True when both are the same to the server: members that are undefined are not sent. */
function isSameJson(one: unknown, other: unknown): boolean {
  return isDeepStrictEqual(parseJson(stringifyJson(one)), parseJson(stringifyJson(other)));
}
