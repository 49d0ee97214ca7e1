// Finalizers: puts one on an object before outside things are made for it, and takes it off when they are gone. Writes are
// conditional on the version that was read. Used by the builder's finalize(), and alone. Source: controller-runtime controllerutil.
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

/** What is written about a finalizer, and where. */
export interface FinalizerWrite<T extends KubernetesObject> {
  /** As it was read: only that version is changed. */
  readonly object: DeepReadonly<T>;
  readonly finalizer: string;
  /** Owner of the field in `managedFields`: the controller's name. Default: what the server makes of the user agent. */
  readonly fieldManager?: string;
}

/** Whether an object carries a finalizer. */
export function hasFinalizer(object: DeepReadonly<KubernetesObject>, finalizer: string): boolean {
  return object.metadata?.finalizers?.includes(finalizer) === true;
}

/** The object with the finalizer. Rejects with 409 when it was changed meanwhile. */
export async function addFinalizer<T extends KubernetesObject>(
  client: ResourceClient,
  resource: Resource<T>,
  { object, finalizer, ...rest }: FinalizerWrite<T>,
): Promise<DeepReadonly<T>> {
  if (hasFinalizer(object as DeepReadonly<KubernetesObject>, finalizer)) return object;
  const finalizers = [...finalizersOf(object), finalizer];
  return (await writeFinalizers(client, resource, { object, finalizers, ...rest })) as DeepReadonly<T>;
}

/** Without it; undefined when the object has gone: it was the last, or somebody was faster. Rejects with 409 when it was changed meanwhile. */
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

/** Whether an update does nothing but put some of these finalizers on. */
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

/** Where an object is, for calls of a client. */
export function targetOf({ metadata }: DeepReadonly<KubernetesObject>): ObjectTarget {
  const { name = '', namespace } = metadata ?? {};
  return namespace === undefined ? { name } : { namespace, name };
}

function finalizersOf(object: DeepReadonly<KubernetesObject>): readonly string[] {
  return object.metadata?.finalizers ?? [];
}
