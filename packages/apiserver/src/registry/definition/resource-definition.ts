// ResourceDefinition holds everything the server knows about one resource in one group version. Each built-in resource
// has a folder that makes one; apiextensions makes them for custom resources. The catalog turns them into stores.

import type { DeepReadonly, KubernetesObject, UnstructuredObject } from '@kapstan/api';
import type { GroupKind, GroupVersion, GroupVersionKind, SlicedWork } from '@kapstan/api/internal';
import type { GetAttributes } from '@kapstan/storage';
import type { SchemaNode } from '../../schema/node/schema-node.ts';
import type { TableConvertor } from '../../table/table.ts';
import type { DefinitionOrigin } from './definition-origin.ts';
import type { Connection, Destination } from './destination.ts';
import type { ObjectConversion } from './object-conversion.ts';
import type { RequestContext } from './request-context.ts';
import type { ResourceStore, TrackFields } from './resource-store.ts';
import type { ResourceStrategy } from './strategy.ts';

export type Verb = 'create' | 'delete' | 'deletecollection' | 'get' | 'list' | 'patch' | 'update' | 'watch';

/** A subresource that updates part of the object through the same store: status and endpoints of the spec. */
export interface StrategySubresource<T extends KubernetesObject> {
  readonly type: 'strategy';
  readonly name: string;
  readonly verbs: readonly Verb[];
  readonly strategy: ResourceStrategy<T>;
  /** True = the endpoint has no Table. Default: /status has the Table of its kind, others have none. */
  readonly withoutTable?: boolean;
}

/** `track`: tracks fields for the store of the object, if that keeps managedFields. */
export type SubresourceChange = (present: UnstructuredObject, track?: TrackFields) => Promise<UnstructuredObject>;

/** A subresource with its own object: scale, binding, eviction, token. Absent functions answer 405. */
export interface ObjectSubresource<T extends KubernetesObject> {
  readonly type: 'object';
  readonly name: string;
  readonly kind: GroupVersionKind;
  readonly verbs: readonly Verb[];
  readonly schema?: SchemaNode;
  /** Accepts bodies of other versions of its kind. Absent = none. */
  readonly acceptsVersion?: (version: GroupVersion) => boolean;
  /**
   * Brings a decoded object into the form for admission and the functions below: with defaults, and with the members that Go always writes.
   * Absent = it has that form already.
   */
  applyDefaults?(object: UnstructuredObject): void;
  /** Shows its object as a row. Absent = there is no Table. */
  readonly table?: TableConvertor<UnstructuredObject>;
  get?(store: ResourceStore<T>, context: RequestContext, name: string): Promise<KubernetesObject>;
  /** Calls `validate` once, when it has checked the body and before it acts on it. */
  create?(
    store: ResourceStore<T>,
    context: RequestContext,
    call: {
      readonly name: string;
      readonly body: UnstructuredObject;
      /** Runs validating admission for the body in its present state. */
      readonly validate: () => Promise<void>;
    },
  ): Promise<KubernetesObject>;
  /** `change` returns the new subresource object for the present one; it may run several times. */
  update?(
    store: ResourceStore<T>,
    context: RequestContext,
    call: {
      readonly name: string;
      readonly change: SubresourceChange;
      /** Preconditions on the object that it is part of. */
      readonly preconditions?: { readonly uid: string };
    },
  ): Promise<KubernetesObject>;
  /** True when its object has managedFields, which `change` reads and writes, and can be applied. Default false. */
  readonly isApplicable?: boolean;
  /** Message of the 500 for an apply, where kube-apiserver cannot apply it although it has managed fields. */
  readonly applyFault?: string;
  /** Replaces the functions above for exec, attach, portforward and proxy. */
  readonly connect?: Connecter<T>;
}

/** Options from the query of a request. Absent options have no member. */
export type QueryOptions = Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;

/**
 * Types of the options that a query may hold; others are ignored. 'numbers' = unsigned 32-bit numbers, passed as texts.
 */
export type QueryOptionTypes = Readonly<
  Record<string, 'string' | 'strings' | 'boolean' | 'integer' | 'numbers' | 'time'>
>;

/** Passes requests on to a peer without reading their bodies. Source: apiserver rest.Connecter. */
export interface Connecter<T extends KubernetesObject> {
  readonly methods: readonly string[];
  readonly queryOptions: QueryOptionTypes;
  /** True when the rest of the URL after the subresource belongs to the request. */
  readonly takesPath: boolean;
  /** A verb that the user needs as well, if the request's own verb differs. */
  readonly requiredVerb?: Verb;
  /** Returns the connection. `path` is decoded; "" = none. Rejects with the error to answer with. */
  connect(
    store: ResourceStore<T>,
    context: RequestContext,
    call: { readonly name: string; readonly options: QueryOptions; readonly path: string },
  ): Promise<Connection>;
}

/** Bytes that are not an object, sent as they arrive from their source. */
interface ByteAnswer {
  readonly contentType: string;
  readonly from: Destination;
}

/** A subresource that is read as bytes, such as log. */
export interface ByteSubresource<T extends KubernetesObject> {
  readonly type: 'bytes';
  readonly name: string;
  readonly verbs: readonly Verb[];
  readonly queryOptions: QueryOptionTypes;
  /** Returns undefined when there is nothing to read (204). */
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
 * Called once with `true` when the write has succeeded, otherwise with `false`, even for a dry run. Never rejects,
 * because the write can no longer be changed.
 */
export type FinishReservation = (committed: boolean) => Promise<void>;

/**
 * Values that must be unique across objects, such as cluster addresses and node ports. They are reserved before a write
 * and released when it fails. The functions change the object in place and reject with StatusError. Both run before the
 * strategy prepares the object; `update` does not run for subresources. Source: registry.Store BeginCreate,
 * BeginUpdate, AfterDelete.
 */
export interface ResourceAllocation<T extends KubernetesObject> {
  create(store: ResourceStore<T>, context: RequestContext, object: T): Promise<FinishReservation>;
  update(
    store: ResourceStore<T>,
    context: RequestContext,
    change: { readonly next: T; readonly old: DeepReadonly<T> },
  ): Promise<FinishReservation>;
  /** Runs after the object is gone. Never rejects. */
  release(object: DeepReadonly<T>): Promise<void>;
}

interface DiscoveryPlace {
  readonly group: number;
  readonly version: number;
}

interface PublishedResource {
  /**
   * A text that changes whenever the schema or the selectable fields may have changed. Absent = the schema itself is compared.
   */
  readonly revision?: string;
  /** False = objects may have members that no schema describes. Default true. */
  readonly hasSchema?: boolean;
  /** Members that the schema does not know are kept. Default false. */
  readonly keepsUnknownFields?: boolean;
}

/** Everything that a server has to know about a kind to serve it: names, schema, strategy, columns. */
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
  readonly storageVersionHash?: string | undefined;
  /** Key prefix without the etcd prefix, for example "/pods", "/services/specs". */
  readonly storagePrefix: string;
  /** Group version in which objects are stored and kept in memory. */
  readonly storageVersion: { readonly group: string; readonly version: string };
  /** Media type of the stored value if it differs from the server's. Custom resources are always JSON. */
  readonly storedAs?: 'application/json' | undefined;
  /**
   * True = no watch cache unless one is configured by name, for objects that are many, written once and rarely read.
   * Default false.
   */
  readonly uncachedByDefault?: boolean | undefined;
  /** True = for admission, an object is in the namespace with its own name, as a Namespace is. Default false. */
  readonly isOwnNamespace?: boolean | undefined;
  /**
   * Place of its group in discovery, and of its version within the group; smaller ones come first. Absent = after all
   * that have a place.
   */
  readonly discoveryPlace?: DiscoveryPlace | undefined;
  /**
   * True = its group serves its own discovery document, which refuses other methods and media types. The aggregator serves the documents of
   * other groups. Default false.
   */
  readonly hasGroupRoute?: boolean | undefined;
  readonly schema: SchemaNode;
  readonly strategy: ResourceStrategy<T>;
  readonly subresources: readonly Subresource<T>[];
  readonly table: TableConvertor<T>;
  readonly getAttributes: GetAttributes<T>;
  /** Keys that field selectors may use, besides metadata.name (and metadata.namespace). */
  readonly selectableFields: readonly string[];
  /** Selectable fields that the cache indexes, so that it need not scan all objects and watchers. Default none. */
  readonly indexedFields?: readonly string[] | undefined;
  /** Returns the message of the 400 for a key that is not selectable. Absent = `field label not supported: {key}`. */
  unsupportedFieldMessage?(key: string): string;
  /** Kind named in 422 answers. Absent = the resource's own. events.k8s.io answers with the core group's. */
  readonly invalidKind?: GroupKind | undefined;
  /**
   * True for kinds of a CustomResourceDefinition: their list items carry kind and apiVersion, they have no strategic
   * merge patch, and other texts for 404.
   */
  readonly isCustom?: boolean | undefined;
  /** Details that OpenAPI documents show of a custom resource. Absent: they show its schema alone. */
  readonly published?: PublishedResource | undefined;
  /**
   * Says how another thread can make this definition, so that large objects are validated there. Absent = they are validated in the turn of
   * the request. A copy with another strategy must leave it out, because the thread has the original's.
   */
  readonly origin?: DefinitionOrigin | undefined;
  /**
   * True for an object whose validation takes longer than its size shows, so that it is validated by a thread too. Absent = there are none.
   */
  isSlowToValidate?(object: DeepReadonly<T>): boolean;
  /**
   * Annotations in which this version keeps what it has no field for. Tables and metadata alone lack them. Default none.
   */
  readonly versionAnnotations?: ReadonlySet<string> | undefined;
  /** Warning sent with every answer of a deprecated resource or version. */
  readonly deprecationWarning?: string | undefined;
  /** True = a delete answers with the deleted object instead of a Status. Default false. */
  readonly returnsDeletedObject?: boolean | undefined;
  readonly allocation?: ResourceAllocation<T> | undefined;
  /** Sets defaults in place, after decoding and after every patch. */
  applyDefaults(object: T): void;
  /** Does what {@link applyDefaults} does, in slices. Absent = in one turn. */
  applyDefaultsInSlices?(object: T): SlicedWork<void>;
  /** Fills in fields that are computed on read and not stored, in place. Absent = nothing. */
  decorate?(object: T): void;
  /**
   * Converts between the stored version and this one. Absent = both have the same shape, and only apiVersion changes.
   * `fromStored` gets a copy that it may change; the same object with the same apiVersion means "unchanged".
   */
  readonly convert?:
    | {
        fromStored(object: DeepReadonly<UnstructuredObject>): UnstructuredObject;
        toStored(object: UnstructuredObject): UnstructuredObject;
        /** The same conversions in slices. Absent = they take one turn. */
        fromStoredInSlices?(object: DeepReadonly<UnstructuredObject>): SlicedWork<UnstructuredObject>;
        toStoredInSlices?(object: UnstructuredObject): SlicedWork<UnstructuredObject>;
      }
    | undefined;
  /**
   * Converts objects by code that takes its time: a webhook or a function of the program. When it is present, the storage
   * holds objects as they are stored, in whatever version, and ResourceStack converts them above its cache; `convert`
   * then only checks the stored form.
   */
  readonly conversion?: ObjectConversion | undefined;
  /**
   * Converters from versions with other shapes that old servers stored, by apiVersion, to the storage version. Each
   * gets a fresh copy.
   */
  readonly upgrades?: ReadonlyMap<string, (stored: UnstructuredObject) => UnstructuredObject> | undefined;
}
