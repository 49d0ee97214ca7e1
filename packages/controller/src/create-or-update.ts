// createOrUpdate: makes an object as a function wants it, by reading and writing. For those who do not use server-side apply, which
// needs neither (ctx.apply). Beside finalizer.ts; over any ResourceClient. Source: controller-runtime controllerutil.CreateOrUpdate.
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
import { targetOf } from './finalizer.ts';
import { ObservedClient } from './observed-client.ts';

/** What should be there. */
export interface CreateOrUpdate<T extends KubernetesObject> extends WriteOptions {
  /** What is created where there is none; its metadata names the object. It is copied, never changed. */
  readonly object: T;
  /**
   * Changes a copy: of `object` where there is none, else of what the server has. Called once in both cases; may be async. Throws
   * TypeError when it changes the name or the namespace.
   */
  readonly mutate: (object: DeepWritable<T>) => void | Promise<void>;
}

/** What became of it, and the object as it is now. */
export interface CreatedOrUpdated<T extends KubernetesObject> {
  readonly result: 'created' | 'updated' | 'unchanged';
  readonly object: T;
}

/**
 * Reads the object, has it changed, and creates or updates it; sends no write when nothing has changed. Rejects with 409 when
 * somebody else wrote between the read and the write: in a reconcile let it throw. Only the object itself is written, not its
 * status where that is a subresource. Throws TypeError for wrong arguments.
 */
export async function createOrUpdate<T extends KubernetesObject>(
  client: ResourceClient,
  resource: Resource<T>,
  { object, mutate, ...options }: CreateOrUpdate<T>,
): Promise<CreatedOrUpdated<T>> {
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
    // It is wanted all the same: ctx.prune must not take it for a child that the run left out.
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
      ...(signal === undefined ? {} : { signal }),
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
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

/** Whether both are the same to the server: members that are undefined are not sent. */
function isSameJson(one: unknown, other: unknown): boolean {
  return isDeepStrictEqual(parseJson(stringifyJson(one)), parseJson(stringifyJson(other)));
}
