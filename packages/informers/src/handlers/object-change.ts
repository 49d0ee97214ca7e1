// A change of one cached object, as the observables, iterables and handlers of an informer receive it.
import type { DeepReadonly, KubernetesObject, ObjectKey } from '@kapstan/api';

/** An object was added to the cache. */
export interface AddedChange<T extends KubernetesObject> {
  readonly type: 'added';
  readonly key: ObjectKey;
  readonly object: DeepReadonly<T>;
  /** The object existed before the receiver began to observe. */
  readonly isInInitialList: boolean;
}

/** An object of the cache was replaced. A resync replaces it by itself. */
export interface UpdatedChange<T extends KubernetesObject> {
  readonly type: 'updated';
  readonly key: ObjectKey;
  readonly object: DeepReadonly<T>;
  /** The object that the receiver got last. Another uid: the object was deleted and re-created in between. The same object: a resync. */
  readonly oldObject: DeepReadonly<T>;
}

/** An object left the cache. */
export interface DeletedChange<T extends KubernetesObject> {
  readonly type: 'deleted';
  readonly key: ObjectKey;
  /** The last known state; undefined when there is none. */
  readonly object: DeepReadonly<T> | undefined;
  /** The deletion itself was missed and a relist showed it, so `object` may be older than the last state. */
  readonly isFinalStateUnknown: boolean;
}

/**
 * A change of a cache. Predicates (`when`) of a controller and the streams of an informer receive it. Its `type` names
 * the kind of change.
 */
export type ObjectChange<T extends KubernetesObject> = AddedChange<T> | UpdatedChange<T> | DeletedChange<T>;

/** `synced`: all objects that existed at the start have been delivered; later events are changes. */
export type InformerEvent<T extends KubernetesObject> = ObjectChange<T> | { readonly type: 'synced' };
