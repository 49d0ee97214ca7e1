// Finalizers: puts one on an object before outside things are made for it, and takes it off when they are gone. Writes are
// conditional on the version that was read. Used by the builder's finalize(), and alone. Source: controller-runtime controllerutil.
import {
  type DeepReadonly,
  isNotFound,
  type KubernetesObject,
  type ObjectTarget,
  type Resource,
  type ResourceClient,
} from '@kapstan/api';

export function hasFinalizer(object: DeepReadonly<KubernetesObject>, finalizer: string): boolean {
  return object.metadata?.finalizers?.includes(finalizer) === true;
}

/** The object with the finalizer. Rejects with 409 when it was changed meanwhile. */
export async function addFinalizer<T extends KubernetesObject>(
  client: ResourceClient,
  token: Resource<T>,
  { object, finalizer }: { readonly object: DeepReadonly<T>; readonly finalizer: string },
): Promise<DeepReadonly<T>> {
  if (hasFinalizer(object as DeepReadonly<KubernetesObject>, finalizer)) return object;
  const finalizers = [...finalizersOf(object), finalizer];
  return (await writeFinalizers(client, token, { object, finalizers })) as DeepReadonly<T>;
}

/** Without it; undefined when the object has gone: it was the last, or somebody was faster. Rejects with 409 when it was changed meanwhile. */
export async function removeFinalizer<T extends KubernetesObject>(
  client: ResourceClient,
  token: Resource<T>,
  { object, finalizer }: { readonly object: DeepReadonly<T>; readonly finalizer: string },
): Promise<DeepReadonly<T> | undefined> {
  if (!hasFinalizer(object as DeepReadonly<KubernetesObject>, finalizer)) return object;
  const finalizers = finalizersOf(object).filter((other) => other !== finalizer);
  try {
    return (await writeFinalizers(client, token, { object, finalizers })) as DeepReadonly<T>;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

async function writeFinalizers<T extends KubernetesObject>(
  client: ResourceClient,
  token: Resource<T>,
  { object, finalizers }: { readonly object: DeepReadonly<T>; readonly finalizers: readonly string[] },
): Promise<T> {
  const { metadata } = object as DeepReadonly<KubernetesObject>;
  const body = { metadata: { resourceVersion: metadata?.resourceVersion, uid: metadata?.uid, finalizers } };
  return await client.patch(token, targetOf(object as DeepReadonly<KubernetesObject>), { type: 'merge', body });
}

/** Where an object is, for calls of a client. */
export function targetOf({ metadata }: DeepReadonly<KubernetesObject>): ObjectTarget {
  const { name = '', namespace } = metadata ?? {};
  return namespace === undefined ? { name } : { namespace, name };
}

function finalizersOf(object: DeepReadonly<KubernetesObject>): readonly string[] {
  return object.metadata?.finalizers ?? [];
}
