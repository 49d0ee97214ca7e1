// The tombstone of an object whose deletion was missed: a relist showed that it is gone. Replace puts it into the FIFO.
import { type DeepReadonly, type KubernetesObject, metaNamespaceKey, type ObjectKey } from '@kapstan/api';

const brand = Symbol.for('@kapstan/informers/DeletedFinalStateUnknown');

/** Describes an object that has vanished: its key, and the last state that was seen, which may be old. */
export class DeletedFinalStateUnknown<T extends KubernetesObject> {
  readonly key: ObjectKey;
  /** Undefined when not even an old state is known. */
  readonly object: DeepReadonly<T> | undefined;

  constructor(key: ObjectKey, object: DeepReadonly<T> | undefined) {
    this.key = key;
    this.object = object;
    Object.defineProperty(this, brand, { value: true });
  }
}

/**
 * Returns true for a tombstone of any copy of this package.
 *
 * @example
 * ```ts
 * import { connect } from '@kapstan/client';
 * import { isDeletedFinalStateUnknown, SharedInformerFactory } from '@kapstan/informers';
 * import { Pod } from '@kapstan/kinds/core/v1';
 *
 * const factory = new SharedInformerFactory(await connect());
 * factory.informer(Pod).addEventHandler({
 *   onDelete: (pod) => {
 *     const last = isDeletedFinalStateUnknown<Pod>(pod) ? pod.object : pod;
 *     console.log('gone', last?.metadata?.name);
 *   },
 * });
 * factory.start();
 * ```
 */
export function isDeletedFinalStateUnknown<T extends KubernetesObject>(
  value: DeepReadonly<T> | DeletedFinalStateUnknown<T>,
): value is DeletedFinalStateUnknown<T> {
  return brand in value;
}

/** Returns the object, or the last state in the tombstone. */
export function lastStateOf<T extends KubernetesObject>(
  value: DeepReadonly<T> | DeletedFinalStateUnknown<T>,
): DeepReadonly<T> | undefined {
  return isDeletedFinalStateUnknown<T>(value) ? value.object : (value as DeepReadonly<T>);
}

/**
 * Returns the key of an object or a tombstone. Throws TypeError ("couldn't create key …") for an object without metadata; the text contains
 * only apiVersion and kind, because the object may be a secret.
 *
 * @example
 * ```ts
 * import { connect } from '@kapstan/client';
 * import { deletionHandlingKey, SharedInformerFactory } from '@kapstan/informers';
 * import { Pod } from '@kapstan/kinds/core/v1';
 *
 * const factory = new SharedInformerFactory(await connect());
 * factory.informer(Pod).addEventHandler({ onDelete: (pod) => console.log('gone', deletionHandlingKey<Pod>(pod)) });
 * factory.start();
 * ```
 */
export function deletionHandlingKey<T extends KubernetesObject>(
  value: DeepReadonly<T> | DeletedFinalStateUnknown<T>,
): ObjectKey {
  if (isDeletedFinalStateUnknown<T>(value)) return value.key;
  try {
    return metaNamespaceKey(value as DeepReadonly<KubernetesObject>);
  } catch (cause) {
    const { apiVersion, kind } = value as DeepReadonly<KubernetesObject>;
    const named = JSON.stringify({ apiVersion, kind });
    throw new TypeError(`couldn't create key for object ${named}: ${(cause as Error).message}`, { cause });
  }
}

/** Returns the version that an object brings into the cache; undefined for a tombstone, whose version is old. */
export function incomingVersion<T extends KubernetesObject>(
  object: DeepReadonly<T> | DeletedFinalStateUnknown<T>,
): string | undefined {
  return isDeletedFinalStateUnknown<T>(object) ? undefined : (object as KubernetesObject).metadata?.resourceVersion;
}
