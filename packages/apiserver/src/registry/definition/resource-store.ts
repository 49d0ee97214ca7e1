// ResourceStore: the verbs of one resource, called by the HTTP layer and the in-process client. Implemented by
// generic-store.ts (registry.Store of the Go library) over a Storage.

import type { DeepReadonly, KubernetesObject, ListOptions, UnstructuredObject } from '@kapstan/api';
import type { GroupVersionKind, Preconditions, PropagationPolicy } from '@kapstan/api/internal';
import type { StorageWatch, StorageWatchSink, Stored, StoredList } from '@kapstan/storage';
import type { SchemaNode } from '../../schema/node/schema-node.ts';
import type { RequestContext } from './request-context.ts';
import type { ResourceStrategy } from './strategy.ts';

/** Options of a delete from a DeleteOptions body or the query. Source: meta/v1 DeleteOptions. */
export interface DeleteRequest {
  readonly gracePeriodSeconds?: number | undefined;
  readonly preconditions?: Preconditions | undefined;
  readonly propagationPolicy?: PropagationPolicy | undefined;
  /** Deprecated form of `propagationPolicy`. */
  readonly orphanDependents?: boolean | undefined;
  readonly ignoreStoreReadErrorWithClusterBreakingPotential?: boolean | undefined;
  /** True = part of the deletion of a collection, where the object has no name for admission. Default false. */
  readonly isOfCollection?: boolean;
  /**
   * True = admission has seen the request in another form, such as an eviction, and is not called again. Default false.
   */
  readonly isAdmitted?: boolean;
}

/** The options of a list or watch, checked by the HTTP layer; selectors are still text. */
export type SelectRequest = Pick<
  ListOptions,
  'labelSelector' | 'fieldSelector' | 'resourceVersion' | 'resourceVersionMatch' | 'limit' | 'continue'
>;

export interface WatchRequest extends SelectRequest {
  readonly sendInitialEvents?: boolean | undefined;
  readonly allowWatchBookmarks?: boolean | undefined;
  /** See StorageWatchOptions. */
  readonly marksInitialEventsEnd?: boolean | undefined;
  /** Monotonic time in milliseconds. */
  readonly deadlineMs?: number | undefined;
}

/** Writes the managedFields of `next`, the object of a subresource that has its own kind. */
export type TrackFields = (
  next: KubernetesObject,
  old: DeepReadonly<KubernetesObject>,
  part: { readonly kind: GroupVersionKind; readonly schema?: SchemaNode },
) => void | Promise<void>;

/**
 * Makes the new object from the present one (`undefined` when absent), which is a private copy. May run several times;
 * throws StatusError to refuse. Used by PUT, PATCH, apply and scale alike. Functions that write managedFields
 * themselves call `track`, which is absent if the store keeps none.
 */
type Transform<T extends KubernetesObject> = (present: T | undefined, track: TrackFields | undefined) => Promise<T> | T;

export interface UpdateRequest<T extends KubernetesObject> {
  readonly name: string;
  readonly transform: Transform<T>;
  /** The strategy of a subresource. Absent = the resource's own. */
  readonly strategy?: ResourceStrategy<T>;
  /** Name of the subresource, for admission and managed fields. Absent or "" = the object itself. */
  readonly subresource?: string;
  /** 'given': the transform has written metadata.managedFields itself (server-side apply, scale). Default 'tracked'. */
  readonly managedFields?: 'tracked' | 'given';
  /** True = create a missing object even if the strategy does not allow it, for server-side apply. */
  readonly forceAllowCreate?: boolean;
  /** True = admission sees the request in another form (Scale, Binding), and is not called for this one. Default false. */
  readonly isAdmitted?: boolean;
  /** Called instead of validating admission if `isAdmitted`. Absent = nothing is left to validate. */
  validateAdmitted?(next: DeepReadonly<T>, old: DeepReadonly<T>): Promise<void> | undefined;
  /** Checked against the stored object. A PUT passes the uid of its body, a patch passes none. */
  readonly preconditions?: Preconditions;
}

/** The object of a subresource with its own kind, as sent by a client. Admission changes it in place. */
export interface SentPart {
  readonly operation: 'CREATE' | 'UPDATE' | 'CONNECT';
  readonly name: string;
  readonly subresource: string;
  readonly kind: GroupVersionKind;
  readonly object: UnstructuredObject;
  /** Present in updates. */
  readonly oldObject?: DeepReadonly<UnstructuredObject> | undefined;
  /** Selects the admission plug-ins that run: the mutating or the validating ones. Absent = both. */
  readonly phase?: 'admit' | 'validate';
}

export interface UpdateAnswer<T extends KubernetesObject> {
  readonly stored: Stored<T>;
  /** True when the object did not exist before (HTTP 201). */
  readonly created: boolean;
}

/**
 * `deleted` is false when the object still exists, waiting for finalizers or its grace period (HTTP 200 with the
 * object; otherwise `returnsDeletedObject` decides). `stored` is absent when the deleted value could not be read.
 */
export type DeleteAnswer<T extends KubernetesObject> =
  | { readonly stored: Stored<T>; readonly deleted: boolean }
  | { readonly stored?: undefined; readonly deleted: true };

/** The verbs of one resource. All reject with StatusError. `context.namespace` selects the namespace. */
export interface ResourceStore<T extends KubernetesObject = UnstructuredObject> {
  /**
   * Creates the object, which it takes over and changes: wipes system metadata, generates the name, tracks fields, runs
   * admission.
   */
  create(context: RequestContext, object: T): Promise<Stored<T>>;
  /**
   * Stores an object of the server's own as an earlier {@link create} made it: without decoding, defaults, admission and
   * validation. Adds only what each server makes anew: uid, creation time, times of managed fields and of conditions. The
   * object's namespace is the request's. Absent = use {@link create}.
   */
  createPrepared?(prepared: DeepReadonly<T>): Promise<Stored<T>>;
  get(
    context: RequestContext,
    name: string,
    options?: { readonly resourceVersion?: string | undefined },
  ): Promise<Stored<T>>;
  /**
   * Returns undefined when there is no such object; it is meant for objects that are often absent. Absent = use {@link
   * get}.
   */
  find?(
    context: RequestContext,
    name: string,
    options?: { readonly resourceVersion?: string | undefined },
  ): Promise<Stored<T> | undefined>;
  list(context: RequestContext, request: SelectRequest): Promise<StoredList<T>>;
  watch(context: RequestContext, request: WatchRequest, sink: StorageWatchSink<T>): StorageWatch;
  update(context: RequestContext, request: UpdateRequest<T>): Promise<UpdateAnswer<T>>;
  /**
   * Runs admission for the object of a subresource: evictions, bindings, tokens, scales, options of a connection.
   * Absent = there is no admission.
   */
  admitPart?(context: RequestContext, part: SentPart): Promise<void>;
  delete(context: RequestContext, name: string, request: DeleteRequest): Promise<DeleteAnswer<T>>;
  /** Deletes the selected objects and returns them in key order. */
  deleteCollection(context: RequestContext, request: DeleteRequest, select: SelectRequest): Promise<StoredList<T>>;
}
