// What happened to one cached object, as observables, iterables and handlers of an informer are told.
import type { DeepReadonly, KubernetesObject, ObjectKey } from '@kapstan/api';

export interface AddedChange<T extends KubernetesObject> {
  readonly type: 'added';
  readonly key: ObjectKey;
  readonly object: DeepReadonly<T>;
  /** The object was there before the receiver began to look. */
  readonly isInInitialList: boolean;
}

export interface UpdatedChange<T extends KubernetesObject> {
  readonly type: 'updated';
  readonly key: ObjectKey;
  readonly object: DeepReadonly<T>;
  /** What the receiver was told last. Another uid: the object was deleted and made anew in between. The same object: a resync. */
  readonly oldObject: DeepReadonly<T>;
}

export interface DeletedChange<T extends KubernetesObject> {
  readonly type: 'deleted';
  readonly key: ObjectKey;
  /** The last state known; undefined when there is none. */
  readonly object: DeepReadonly<T> | undefined;
  /** The deletion itself was missed, and a relist showed it: `object` may be older than the last state. */
  readonly isFinalStateUnknown: boolean;
}

export type ObjectChange<T extends KubernetesObject> = AddedChange<T> | UpdatedChange<T> | DeletedChange<T>;

/** `synced`: what was there in the beginning has been told; from now on things happen. */
export type InformerEvent<T extends KubernetesObject> = ObjectChange<T> | { readonly type: 'synced' };
