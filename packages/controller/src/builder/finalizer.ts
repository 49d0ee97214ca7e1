// Adds a finalizer to an object before external resources are made for it, and removes it when they are gone. Writes
// require the version that was read. Used by the builder's finalize(), and directly. Source: controller-runtime
// controllerutil.
import { isDeepStrictEqual } from 'node:util';
import {
  type DeepReadonly,
  isNotFound,
  type KubernetesObject,
  type ObjectTarget,
  type Resource,
  type ResourceClient,
} from '@kapstan/api';
import type { ObjectChange } from '@kapstan/informers';

/** A change of a finalizer. */
export interface FinalizerWrite<T extends KubernetesObject> {
  /** The object as it was read; only that version is changed. */
  readonly object: DeepReadonly<T>;
  readonly finalizer: string;
  /**
   * Owner of the field in `managedFields`: the controller's name. Default: derived by the server from the user agent.
   */
  readonly fieldManager?: string;
}

/** True when the object has the finalizer. */
export function hasFinalizer(object: DeepReadonly<KubernetesObject>, finalizer: string): boolean {
  return object.metadata?.finalizers?.includes(finalizer) === true;
}

/**
 * Returns the object with the finalizer. Rejects with 409 when the object was changed meanwhile.
 *
 * @example
 * ```ts
 * import { connect } from '@kapstan/client';
 * import { addFinalizer, hasFinalizer, removeFinalizer } from '@kapstan/controller';
 * import { ConfigMap } from '@kapstan/kinds/core/v1';
 *
 * const client = await connect();
 * const finalizer = 'example.com/cleanup';
 * const object = await client.get(ConfigMap, { name: 'settings', namespace: 'default' });
 * const kept = await addFinalizer(client, ConfigMap, { object, finalizer });
 * console.log(hasFinalizer(kept, finalizer)); // true
 * await removeFinalizer(client, ConfigMap, { object: kept, finalizer });
 * ```
 */
export async function addFinalizer<T extends KubernetesObject>(
  client: ResourceClient,
  resource: Resource<T>,
  { object, finalizer, ...rest }: FinalizerWrite<T>,
): Promise<DeepReadonly<T>> {
  if (hasFinalizer(object as DeepReadonly<KubernetesObject>, finalizer)) return object;
  const finalizers = [...finalizersOf(object), finalizer];
  return (await writeFinalizers(client, resource, { object, finalizers, ...rest })) as DeepReadonly<T>;
}

/**
 * Returns the object without the finalizer; undefined when the object is gone, because it was the last one or another
 * client was faster. Rejects with 409 when the object was changed meanwhile.
 */
export async function removeFinalizer<T extends KubernetesObject>(
  client: ResourceClient,
  resource: Resource<T>,
  { object, finalizer, ...rest }: FinalizerWrite<T>,
): Promise<DeepReadonly<T> | undefined> {
  if (!hasFinalizer(object as DeepReadonly<KubernetesObject>, finalizer)) return object;
  const finalizers = finalizersOf(object).filter((other) => other !== finalizer);
  try {
    return (await writeFinalizers(client, resource, { object, finalizers, ...rest })) as DeepReadonly<T>;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

async function writeFinalizers<T extends KubernetesObject>(
  client: ResourceClient,
  resource: Resource<T>,
  {
    object,
    finalizers,
    ...rest
  }: { readonly object: DeepReadonly<T>; readonly finalizers: readonly string[]; readonly fieldManager?: string },
): Promise<T> {
  const { metadata } = object as DeepReadonly<KubernetesObject>;
  const body = { metadata: { resourceVersion: metadata?.resourceVersion, uid: metadata?.uid, finalizers } };
  return await client.patch(
    resource,
    targetOf(object as DeepReadonly<KubernetesObject>),
    { type: 'merge', body },
    rest,
  );
}

/** True when an update only adds some of these finalizers. */
export function isFinalizerAddition(change: ObjectChange<KubernetesObject>, finalizers: readonly string[]): boolean {
  if (change.type !== 'updated') return false;
  const { oldObject, object } = change;
  const before = finalizersOf(oldObject);
  const after = finalizersOf(object);
  const others = after.filter((name) => before.includes(name) || !finalizers.includes(name));
  return after.length > before.length && isDeepStrictEqual(others, before) && isSameButFinalizers(oldObject, object);
}

function isSameButFinalizers(one: DeepReadonly<KubernetesObject>, other: DeepReadonly<KubernetesObject>): boolean {
  const stripped = (object: DeepReadonly<KubernetesObject>): unknown => {
    const {
      finalizers: _finalizers,
      resourceVersion: _version,
      managedFields: _fields,
      ...metadata
    } = object.metadata ?? {};
    return { ...object, metadata };
  };
  return isDeepStrictEqual(stripped(one), stripped(other));
}

/** Returns the object's name and namespace for calls of a client. */
export function targetOf({ metadata }: DeepReadonly<KubernetesObject>): ObjectTarget {
  const { name = '', namespace } = metadata ?? {};
  return namespace === undefined ? { name } : { namespace, name };
}

function finalizersOf(object: DeepReadonly<KubernetesObject>): readonly string[] {
  return object.metadata?.finalizers ?? [];
}
