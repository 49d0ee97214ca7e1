// Facts of the Kubernetes 1.36 API as data, only for the server (lint). Read from ../../facts on first use, then kept.
import { existsSync, readFileSync } from 'node:fs';
import type { KubernetesObject } from '@kapstan/api';

/** A definition of `schemas.json`: JSON schema words, `$ref` names another definition. */
export type RawSchema = Readonly<Record<string, unknown>>;

export interface SchemaFacts {
  readonly release: string;
  /** Short start of a definition's name → full starts, in OpenAPI and in protobuf. */
  readonly prefixes: Readonly<Record<string, readonly [openApi: string, protobuf: string]>>;
  /** "apps/v1/Deployment" → definition. */
  readonly kinds: Readonly<Record<string, string>>;
  readonly kindsInManyGroupVersions: Readonly<
    Record<string, { readonly schema: string; readonly groupVersions: readonly string[] }>
  >;
  /** Definitions that a server with stock settings does not publish. */
  readonly optInDefinitions: readonly string[];
  readonly definitions: Readonly<Record<string, RawSchema>>;
}

/** `[number, type, label, flags, jsonName]`, trailing empty items dropped. */
export type ProtobufField = readonly [number: number, type: string, label?: string, flags?: string, jsonName?: string];

export interface ProtobufFacts {
  readonly release: string;
  readonly prefixes: Readonly<Record<string, readonly [openApi: string, protobuf: string]>>;
  readonly messages: Readonly<Record<string, Readonly<Record<string, ProtobufField>>>>;
  /** Messages whose JSON is not the object of their fields. */
  readonly jsonForms: Readonly<Record<string, RawSchema>>;
  readonly envelope: Readonly<Record<string, unknown>>;
  readonly watch: Readonly<Record<string, unknown>>;
  readonly negotiation: Readonly<Record<string, unknown>>;
}

export interface SubresourceFacts {
  readonly kind: string;
  readonly kindGV?: string;
  readonly verbs: readonly string[];
}

export interface ResourceFacts {
  readonly kind: string;
  readonly singular: string;
  readonly namespaced: boolean;
  /** Absent = `standardVerbs`. */
  readonly verbs?: readonly string[];
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  /** Hash that discovery shows as storageVersionHash. */
  readonly hash?: string;
  readonly sub?: Readonly<Record<string, SubresourceFacts>>;
  /** True = served only when enabled with --runtime-config. */
  readonly optIn?: boolean;
}

export interface DiscoveryFacts {
  readonly release: string;
  readonly standardVerbs: readonly string[];
  /** Groups in the order in which they are served; versions in preferred order. */
  readonly groups: Readonly<
    Record<string, { readonly versions: readonly string[]; readonly optIn?: readonly string[] }>
  >;
  /** "apps/v1/deployments" → its entry; the core group has no group part: "v1/pods". */
  readonly resources: Readonly<Record<string, ResourceFacts>>;
  readonly queryParameters: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly subresourceQueryParameters: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

export interface StorageKeyFacts {
  readonly resources: Readonly<
    Record<
      string,
      {
        /** "/registry/pods/{namespace}/{name}" */
        readonly key: string;
        readonly apiVersion: string;
        readonly kind: string;
        readonly media?: string;
        /** Seconds granted to the lease. */
        readonly leaseTTL?: number;
        readonly optIn?: boolean;
      }
    >
  >;
  readonly notStored: readonly string[];
}

/** `[name, type, format, priority]`. */
export type ColumnFacts = readonly [name: string, type: string, format: string, priority: number];

export interface TableColumnFacts {
  readonly resources: Readonly<Record<string, readonly ColumnFacts[]>>;
}

export interface FieldSelectorFacts {
  readonly default: readonly string[];
  /** Resource → keys that a list accepts; "default" stands for the member `default`. */
  readonly resources: Readonly<Record<string, 'default' | readonly string[]>>;
  /** Code, reason and message for another key (`{key}`), by resource where it differs from "default". */
  readonly refused: Readonly<Record<string, readonly [code: number, reason: string, message: string]>>;
}

/** How the server treats one resource's writes. */
export interface ResourceBehaviour {
  /** PUT on a missing name creates. */
  readonly createOnUpdate: boolean;
  /** True = a PUT without resourceVersion is accepted. */
  readonly updateWithoutVersion: boolean;
  /** The server keeps metadata.generation. */
  readonly generation: boolean;
  /** A change of labels raises the generation too. */
  readonly labelsRaiseGeneration?: boolean;
  /** Finalizers set on create. */
  readonly finalizers?: readonly string[];
}

export interface BehaviourFacts {
  readonly resources: Readonly<Record<string, ResourceBehaviour>>;
}

/**
 * Go's name for the type of a field: a text names its scalar, even inside a list or map; an object names the list or
 * map itself ("v1.ResourceList", "map[v1.ResourceName]v1.ClaimResourceStatus"), or its elements.
 */
export type GoTypeName = string | { readonly collection?: string; readonly elements?: GoTypeName };

/** Definition → field → name: "core.v1.PodSpec" → "restartPolicy" → "v1.RestartPolicy". */
export type GoTypeFacts = Readonly<Record<string, Readonly<Record<string, GoTypeName>>>>;

/**
 * Struct of Kubernetes' internal types ("core.PodSpec") → its fields in order, each "name, name in the API, type, flags":
 * p pointer, l list, m map, o omitted when empty, u a member of the parent in the API. "+ metadata meta.ObjectMeta" stands
 * for all fields of a struct.
 */
export type InternalTypeFacts = Readonly<Record<string, readonly string[]>>;

/** The roles and bindings that a server makes for itself, as whole objects. */
export interface RbacPolicyFacts {
  readonly release: string;
  readonly clusterRoles: readonly unknown[];
  readonly clusterRoleBindings: readonly unknown[];
  readonly roles: readonly unknown[];
  readonly roleBindings: readonly unknown[];
}

/**
 * The objects with which a new store begins, by kind: as Kapstan stores them, with empty texts for uids and times. Made by
 * packages/control-plane/scripts/write-first-objects.mjs.
 */
export type FirstObjectFacts = Readonly<Record<string, readonly KubernetesObject[]>>;

export const schemaFacts: () => SchemaFacts = lazily<SchemaFacts>('schemas');
export const protobufFacts: () => ProtobufFacts = lazily<ProtobufFacts>('protobuf');
export const discoveryFacts: () => DiscoveryFacts = lazily<DiscoveryFacts>('discovery');
export const storageKeyFacts: () => StorageKeyFacts = lazily<StorageKeyFacts>('storagekeys');
export const tableColumnFacts: () => TableColumnFacts = lazily<TableColumnFacts>('tablecolumns');
export const fieldSelectorFacts: () => FieldSelectorFacts = lazily<FieldSelectorFacts>('fieldselectors');
export const goTypeFacts: () => GoTypeFacts = lazily<GoTypeFacts>('gotypes');
export const internalTypeFacts: () => InternalTypeFacts = lazily<InternalTypeFacts>('internaltypes');
export const behaviourFacts: () => BehaviourFacts = lazily<BehaviourFacts>('behaviour');
export const rbacPolicyFacts: () => RbacPolicyFacts = lazily<RbacPolicyFacts>('rbacpolicy');
export const firstObjectFacts: () => FirstObjectFacts = lazily<FirstObjectFacts>('firstobjects');

/** Kubernetes' descriptions of a type and of its members. Members without a description are absent. */
export interface TypeDescriptionFacts {
  readonly description?: string;
  readonly properties: Readonly<Record<string, string>>;
}

/** Describes types by definition. Empty when the build did not make the file (scripts/write-descriptions.mjs). */
export function descriptionFacts(): Readonly<Record<string, TypeDescriptionFacts>> {
  return typeDescriptions().definitions;
}

/** Describes columns by resource ("v1/pods") and name. Empty when the build did not make the file. */
export function columnDescriptionFacts(): Readonly<Record<string, Readonly<Record<string, string>>>> {
  return columnDescriptions().resources;
}

const typeDescriptions = lazily<{ readonly definitions: Readonly<Record<string, TypeDescriptionFacts>> }>(
  'descriptions',
  { definitions: {} },
);
const columnDescriptions = lazily<{ readonly resources: Readonly<Record<string, Readonly<Record<string, string>>>> }>(
  'column-descriptions',
  { resources: {} },
);

// Both src/facts and dist/facts are two folders below the package, so one relative URL serves sources and build.
/**
 * `absent`: the value when the file does not exist, for files that the build makes in dist. Without it the file is one of facts.
 */
function lazily<T>(name: string, absent?: T): () => T {
  let known: T | undefined;
  return () => {
    known ??= read<T>(
      new URL(`../../${absent === undefined ? 'facts' : 'dist'}/${name}.json`, import.meta.url),
      absent,
    );
    return known;
  };
}

function read<T>(file: URL, absent: T | undefined): T {
  if (absent !== undefined && !existsSync(file)) return absent;
  return JSON.parse(readFileSync(file, 'utf8')) as T;
}
