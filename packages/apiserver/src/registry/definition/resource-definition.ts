// ResourceDefinition: everything the server knows of one resource in one group version. One folder a built-in resource
// makes one (registry/<group>/<resource>), crd/ makes them for custom resources; the catalog turns them into stores.

import type { DeepReadonly, KubernetesObject, UnstructuredObject } from '@kapstan/api';
import type { GroupKind, GroupVersion, GroupVersionKind, SlicedWork } from '@kapstan/api/internal';
import type { GetAttributes } from '@kapstan/storage';
import type { SchemaNode } from '../../schema/schema-node.ts';
import type { TableConvertor } from '../../table/table.ts';
import type { DefinitionOrigin } from './definition-origin.ts';
import type { Connection, Destination } from './destination.ts';
import type { RequestContext } from './request-context.ts';
import type { ResourceStore, TrackFields } from './resource-store.ts';
import type { ResourceStrategy } from './strategy.ts';

export type Verb = 'create' | 'delete' | 'deletecollection' | 'get' | 'list' | 'patch' | 'update' | 'watch';

/** A subresource that updates part of the object through the same store: status, spec-only endpoints. */
export interface StrategySubresource<T extends KubernetesObject> {
  readonly type: 'strategy';
  readonly name: string;
  readonly verbs: readonly Verb[];
  readonly strategy: ResourceStrategy<T>;
  /** True: the endpoint has no rows. Default: /status has those of its kind, others have none. */
  readonly withoutTable?: boolean;
}

/** `track`: of the store that the object is in, if it keeps managedFields. */
export type SubresourceChange = (present: UnstructuredObject, track?: TrackFields) => Promise<UnstructuredObject>;

/** A subresource with an object of its own: scale, binding, eviction, token. Absent functions answer 405. */
export interface ObjectSubresource<T extends KubernetesObject> {
  readonly type: 'object';
  readonly name: string;
  readonly kind: GroupVersionKind;
  readonly verbs: readonly Verb[];
  readonly schema?: SchemaNode;
  /** Other versions of its kind that a body may have. Absent = none. */
  readonly acceptsVersion?: (version: GroupVersion) => boolean;
  /** How its object is shown as a row. Absent: it is not. */
  readonly table?: TableConvertor<UnstructuredObject>;
  get?(store: ResourceStore<T>, context: RequestContext, name: string): Promise<KubernetesObject>;
  create?(
    store: ResourceStore<T>,
    context: RequestContext,
    call: { readonly name: string; readonly body: UnstructuredObject },
  ): Promise<KubernetesObject>;
  /** `change` gives the new subresource object from the present one; it may run several times. */
  update?(
    store: ResourceStore<T>,
    context: RequestContext,
    call: {
      readonly name: string;
      readonly change: SubresourceChange;
      /** Of the object that it is a part of. */
      readonly preconditions?: { readonly uid: string };
    },
  ): Promise<KubernetesObject>;
  /** Whether its object has managedFields, which `change` reads and writes, and can be applied. Default false. */
  readonly isApplicable?: boolean;
  /** In place of the functions above: exec, attach, portforward, proxy. */
  readonly connect?: Connecter<T>;
}

/** Options of a request as its query gives them; absent ones are absent. */
export type QueryOptions = Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;

/** Options that a query may hold; others are passed over. 'numbers' = as unsigned numbers of 32 bits, told as texts. */
export type QueryOptionTypes = Readonly<
  Record<string, 'string' | 'strings' | 'boolean' | 'integer' | 'numbers' | 'time'>
>;

/** How requests are led elsewhere, without a look at their bodies. Source: apiserver rest.Connecter. */
export interface Connecter<T extends KubernetesObject> {
  readonly methods: readonly string[];
  readonly queryOptions: QueryOptionTypes;
  /** Whether what follows the subresource in the URL belongs to the request. */
  readonly takesPath: boolean;
  /** Asked of the user too, when the request's own verb is another. */
  readonly requiredVerb?: Verb;
  /** `path`: decoded; "" = none. Rejects with what the request is refused with. */
  connect(
    store: ResourceStore<T>,
    context: RequestContext,
    call: { readonly name: string; readonly options: QueryOptions; readonly path: string },
  ): Promise<Connection>;
}

/** Bytes that are no object, sent as they come from where they are. */
interface ByteAnswer {
  readonly contentType: string;
  readonly from: Destination;
}

/** A subresource that is read as bytes: log. */
export interface ByteSubresource<T extends KubernetesObject> {
  readonly type: 'bytes';
  readonly name: string;
  readonly verbs: readonly Verb[];
  readonly queryOptions: QueryOptionTypes;
  /** Undefined = there is nothing to read (204). */
  get(
    store: ResourceStore<T>,
    context: RequestContext,
    call: { readonly name: string; readonly options: QueryOptions },
  ): Promise<ByteAnswer | undefined>;
}

export type Subresource<T extends KubernetesObject> =
  | StrategySubresource<T>
  | ObjectSubresource<T>
  | ByteSubresource<T>;

/**
 * Called when the write that it was reserved for has happened (`true`) or not (`false`, also for a dry run). Once. Never
 * rejects: the write is what it is.
 */
export type FinishReservation = (committed: boolean) => Promise<void>;

/**
 * Values that must be unique across objects, taken before a write and given back when it fails: cluster addresses and
 * node ports. The functions change the object in place and reject with StatusError. Source: registry.Store BeginCreate,
 * BeginUpdate, AfterDelete. Both run before the strategy prepares the object; `update` not for its subresources.
 */
export interface ResourceAllocation<T extends KubernetesObject> {
  create(store: ResourceStore<T>, context: RequestContext, object: T): Promise<FinishReservation>;
  update(
    store: ResourceStore<T>,
    context: RequestContext,
    change: { readonly next: T; readonly old: DeepReadonly<T> },
  ): Promise<FinishReservation>;
  /** After the object is gone. Never rejects. */
  release(object: DeepReadonly<T>): Promise<void>;
}

interface DiscoveryPlace {
  readonly group: number;
  readonly version: number;
}

export interface ResourceDefinition<T extends KubernetesObject = UnstructuredObject> {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly singular: string;
  readonly kind: string;
  readonly listKind: string;
  readonly namespaced: boolean;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly verbs: readonly Verb[];
  readonly storageVersionHash?: string;
  /** Key prefix without the etcd prefix: "/pods", "/services/specs", "/apiextensions.k8s.io/customresourcedefinitions". */
  readonly storagePrefix: string;
  /** apiVersion and kind of the stored value, and the shape in which it is kept in memory. */
  readonly storageVersion: { readonly group: string; readonly version: string };
  /** Media type of the stored value where it is always the same, whatever the server's is. Custom resources are always JSON. */
  readonly storedAs?: 'application/json';
  /** No watch cache unless one is asked for by name: objects that are many, written once and hardly read. Default false. */
  readonly uncachedByDefault?: boolean;
  /** An object lies in the namespace of its own name, as a namespace does for admission. Default false. */
  readonly isOwnNamespace?: boolean;
  /** Place of its group, and of its version within the group, in discovery; the smaller comes first. Absent: after those that have one. */
  readonly discoveryPlace?: DiscoveryPlace;
  /** The document of its group is a route, which refuses methods and media types that routes refuse. Default false. */
  readonly hasGroupRoute?: boolean;
  readonly schema: SchemaNode;
  readonly strategy: ResourceStrategy<T>;
  readonly subresources: readonly Subresource<T>[];
  readonly table: TableConvertor<T>;
  readonly getAttributes: GetAttributes<T>;
  /** Field selector keys that a list takes, beyond metadata.name (and metadata.namespace). */
  readonly selectableFields: readonly string[];
  /** Those of them by which a cache finds objects and watchers without looking at all. Default none. */
  readonly indexedFields?: readonly string[];
  /** Message of the 400 for a field selector key that is not selectable. Absent = `field label not supported: {key}`. */
  unsupportedFieldMessage?(key: string): string;
  /** Kind named in 422 answers. Absent = the resource's own; events.k8s.io answers with the core group's. */
  readonly invalidKind?: GroupKind;
  /** Made by a CustomResourceDefinition: list items carry kind and apiVersion, no strategic merge patch, 404s of its own. */
  readonly isCustom?: boolean;
  /**
   * Set for definitions that a thread can make too, so that large objects are validated there. Absent: in the turn of the request.
   * A copy with a strategy of its own must leave it out, because the thread has the strategy of the original.
   */
  readonly origin?: DefinitionOrigin;
  /** Warning sent with every answer: a resource, or a version of it, that is deprecated. */
  readonly deprecationWarning?: string;
  /** A delete answers with the deleted object, not with a Status. Default false. */
  readonly returnsDeletedObject?: boolean;
  readonly allocation?: ResourceAllocation<T>;
  /** Fills defaults in place, after decoding and after every patch. */
  applyDefaults(object: T): void;
  /** {@link applyDefaults} to an object of any size. Absent: they are applied in one turn. */
  applyDefaultsInSlices?(object: T): SlicedWork<void>;
  /** Fills in place what is computed on read and not stored. Absent = nothing. */
  decorate?(object: T): void;
  /**
   * Between the stored version and this one, where they differ. Absent = same shape, only apiVersion is changed.
   * `fromStored` is given a fresh copy: it may change it and answer with it, when that is the object as served. The
   * same object and the same apiVersion mean: nothing was changed.
   */
  readonly convert?: {
    fromStored(object: DeepReadonly<UnstructuredObject>): UnstructuredObject;
    toStored(object: UnstructuredObject): UnstructuredObject;
  };
  /**
   * Versions of another shape that old servers stored: by apiVersion, what makes each the storage version. It is given a
   * fresh copy.
   */
  readonly upgrades?: ReadonlyMap<string, (stored: UnstructuredObject) => UnstructuredObject>;
}
