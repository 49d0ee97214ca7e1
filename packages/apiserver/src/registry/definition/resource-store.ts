// ResourceStore: the verbs of one resource as the HTTP layer and the in-process client call them. Implemented by
// generic-store.ts (registry.Store of the Go library) over a Storage.

import type { DeepReadonly, KubernetesObject, ListOptions, UnstructuredObject } from '@kapstan/api';
import type { GroupVersionKind, Preconditions, PropagationPolicy } from '@kapstan/api/internal';
import type { StorageWatch, StorageWatchSink, Stored, StoredList } from '@kapstan/storage';
import type { SchemaNode } from '../../schema/schema-node.ts';
import type { RequestContext } from './request-context.ts';
import type { ResourceStrategy } from './strategy.ts';

/** Options of a delete as they came in a DeleteOptions body or in the query. Source: meta/v1 DeleteOptions. */
export interface DeleteRequest {
  readonly gracePeriodSeconds?: number;
  readonly preconditions?: Preconditions;
  readonly propagationPolicy?: PropagationPolicy;
  /** Deprecated form of `propagationPolicy`. */
  readonly orphanDependents?: boolean;
  readonly ignoreStoreReadErrorWithClusterBreakingPotential?: boolean;
}

/** A list or watch as asked, selectors still as text; checked by the HTTP layer. */
export type SelectRequest = Pick<
  ListOptions,
  'labelSelector' | 'fieldSelector' | 'resourceVersion' | 'resourceVersionMatch' | 'limit' | 'continue'
>;

export interface WatchRequest extends SelectRequest {
  readonly sendInitialEvents?: boolean;
  readonly allowWatchBookmarks?: boolean;
  /** As in StorageWatchOptions. */
  readonly marksInitialEventsEnd?: boolean;
  /** Monotonic clock, milliseconds. */
  readonly deadlineMs?: number;
}

/** Writes the managedFields of `next`, a part of the request's object that is an object of its own kind. */
export type TrackFields = (
  next: KubernetesObject,
  old: DeepReadonly<KubernetesObject>,
  part: { readonly kind: GroupVersionKind; readonly schema?: SchemaNode },
) => void | Promise<void>;

/**
 * Makes the new object from the present one (`undefined` when absent). The argument is a private copy; the function
 * may run several times and throws StatusError to refuse. Used by PUT, PATCH, apply and scale alike. `track`: for
 * one that writes managedFields itself; absent where the store keeps none.
 */
type Transform<T extends KubernetesObject> = (present: T | undefined, track: TrackFields | undefined) => Promise<T> | T;

export interface UpdateRequest<T extends KubernetesObject> {
  readonly name: string;
  readonly transform: Transform<T>;
  /** The strategy of a subresource; absent = the resource's own. */
  readonly strategy?: ResourceStrategy<T>;
  /** Name of that subresource, for admission and managed fields. Absent or "" = the object itself. */
  readonly subresource?: string;
  /** 'given': the transform has written metadata.managedFields itself (server-side apply, scale). Default 'tracked'. */
  readonly managedFields?: 'tracked' | 'given';
  /** Create when absent whatever the strategy says: server-side apply. */
  readonly forceAllowCreate?: boolean;
  /** Checked against the stored object. A PUT passes the uid of its body, a patch nothing. */
  readonly preconditions?: Preconditions;
}

/** An object of its own kind, sent to the subresource of an object. */
export interface CreatedPart {
  readonly name: string;
  readonly subresource: string;
  readonly kind: GroupVersionKind;
  readonly object: UnstructuredObject;
}

export interface UpdateAnswer<T extends KubernetesObject> {
  readonly stored: Stored<T>;
  /** True: it did not exist before (HTTP 201). */
  readonly created: boolean;
}

/**
 * `deleted` false: it still exists, waiting for finalizers or for its grace period (HTTP 200 with the object; else as
 * `returnsDeletedObject` says). `stored` is absent when what was deleted could not be read.
 */
export type DeleteAnswer<T extends KubernetesObject> =
  | { readonly stored: Stored<T>; readonly deleted: boolean }
  | { readonly stored?: undefined; readonly deleted: true };

/** Verbs of one resource. All reject with StatusError. `context.namespace` selects the namespace. */
export interface ResourceStore<T extends KubernetesObject = UnstructuredObject> {
  /** Takes the object over and changes it. Wipes its system metadata, generates its name, tracks its fields, admits it. */
  create(context: RequestContext, object: T): Promise<Stored<T>>;
  get(context: RequestContext, name: string, options?: { readonly resourceVersion?: string }): Promise<Stored<T>>;
  /** The same, and undefined where there is none: for looks at what is often absent. Absent: {@link get} tells. */
  find?(
    context: RequestContext,
    name: string,
    options?: { readonly resourceVersion?: string },
  ): Promise<Stored<T> | undefined>;
  list(context: RequestContext, request: SelectRequest): Promise<StoredList<T>>;
  watch(context: RequestContext, request: WatchRequest, sink: StorageWatchSink<T>): StorageWatch;
  update(context: RequestContext, request: UpdateRequest<T>): Promise<UpdateAnswer<T>>;
  /** Asks admission for what is created through a part of an object: evictions, bindings, tokens. Absent: nothing is asked. */
  admitPart?(context: RequestContext, part: CreatedPart): Promise<void>;
  delete(context: RequestContext, name: string, request: DeleteRequest): Promise<DeleteAnswer<T>>;
  /** Deletes what the selection matches; the deleted objects, in key order. */
  deleteCollection(context: RequestContext, request: DeleteRequest, select: SelectRequest): Promise<StoredList<T>>;
}
