// Events that a watch delivers to the SDK's users, over HTTP and in process.
import type { DeepReadonly, KubernetesObject } from './kubernetes-object.ts';
import type { ResourceVersion } from './resource-version.ts';

export type ChangeType = 'ADDED' | 'MODIFIED' | 'DELETED';

/** A change. All receivers in a process share the object, so it is read-only (invariant I6). */
export interface ObjectEvent<T extends KubernetesObject> {
  readonly type: ChangeType;
  readonly object: DeepReadonly<T>;
}

/** Reports that everything up to this version has been delivered, without a change. */
export interface BookmarkEvent {
  readonly type: 'BOOKMARK';
  readonly resourceVersion: ResourceVersion;
  /** True on the one bookmark that ends the initial events of a streamed list (`sendInitialEvents`). */
  readonly initialEventsEnd: boolean;
}

/** An ERROR event of the server never appears here: it becomes the error of the stream. */
export type WatchEvent<T extends KubernetesObject> = ObjectEvent<T> | BookmarkEvent;

/** Annotation on the bookmark that ends the initial events. Source: apimachinery meta/v1 (InitialEventsAnnotationKey). */
export const initialEventsEndAnnotation = 'k8s.io/initial-events-end';
