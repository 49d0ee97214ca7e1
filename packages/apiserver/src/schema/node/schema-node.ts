// SchemaNode: one place in an object's schema, the same for built-in kinds and custom resources. Made by
// definition-schemas.ts and structural-schema.ts; read by decoding, defaulting, pruning, patches and apply.
import type { GroupVersionKind, SlicedWork } from '@kapstan/api/internal';
import type { EmptyKeeping } from './kept-empties.ts';
import type { Message } from './message.ts';
import type { RawSchema, TypeDescription } from './schema-source.ts';

/**
 * A node of a schema. Members may be lazy getters, because built-in schemas are recursive and large. A node without
 * `type`, properties, items and additionalProperties accepts any value.
 */
export interface SchemaNode {
  readonly type?: 'object' | 'array' | 'string' | 'integer' | 'number' | 'boolean' | undefined;
  readonly format?: string | undefined;
  readonly nullable?: boolean | undefined;
  /** A Map, so that names chosen by clients find own members only. */
  readonly properties?: ReadonlyMap<string, SchemaNode> | undefined;
  /** Schema of the values of a map; `true` = any value. */
  readonly additionalProperties?: SchemaNode | true | undefined;
  readonly items?: SchemaNode | undefined;
  readonly required?: readonly string[] | undefined;
  /** Copy it deeply before writing it into an object. */
  readonly default?: unknown;
  readonly enum?: readonly unknown[] | undefined;
  /** Value of x-kubernetes-list-type. Absent = atomic. */
  readonly listType?: 'atomic' | 'set' | 'map' | undefined;
  readonly listMapKeys?: readonly string[] | undefined;
  /** Value of x-kubernetes-map-type. Absent = granular. */
  readonly mapType?: 'atomic' | 'granular' | undefined;
  /** Value of x-kubernetes-patch-strategy, split at commas: "merge", "retainKeys", "replace". Built-in kinds only. */
  readonly patchStrategy?: readonly string[] | undefined;
  readonly patchMergeKey?: string | undefined;
  readonly intOrString?: boolean | undefined;
  readonly preserveUnknownFields?: boolean | undefined;
  readonly embeddedResource?: boolean | undefined;
  /** Name of the Go type for decoding errors, for example "v1.PodSpec". Built-in kinds only. */
  readonly goType?: string | undefined;
  /** The source of its Go type, if it has one. */
  readonly types?: ApiTypes | undefined;
  /**
   * The embedded Go structs that hold a member, for example `VolumeSource` for `hostPath` of a volume. Built-in kinds
   * only.
   */
  readonly embedded?: ReadonlyMap<string, readonly string[]> | undefined;
  /** Returns the default that is published for a member although nothing fills it in. Built-in kinds only. */
  markedDefault?(member: string): unknown;
  /** The published schema (OpenAPI keywords), for value validation and `kubectl explain`. */
  readonly raw?: Readonly<Record<string, unknown>> | undefined;
}

/** The types of a set of kinds: schema, Go form and protobuf message by the name of the definition. */
export interface ApiTypes {
  /** Returns the definition of a kind: "apps/v1", "Deployment" → "apps.v1.Deployment". */
  nameOf(apiVersion: string, kind: string): string | undefined;
  /** Returns the schema of a definition such as "core.v1.PodSpec". Throws TypeError for an unknown one. */
  schema(definition: string): SchemaNode;
  /** Returns undefined for a kind without a definition. */
  schemaOfKind(apiVersion: string, kind: string): SchemaNode | undefined;
  /** True for a known kind in a version that is no longer served. */
  isRetired(kind: GroupVersionKind): boolean;
  /** Brings an object of a definition into its Go form in place. See go-form.ts. `keeping` absent = the stored form. */
  normalize(definition: string, object: Record<string, unknown>, keeping?: EmptyKeeping): void;
  /** Does what {@link normalize} does, for an object of any size. */
  normalizeInSlices(definition: string, object: Record<string, unknown>, keeping?: EmptyKeeping): SlicedWork<void>;
  /** Returns the zero value of a definition: `{}` for most, `{ replicas: 0 }` for apps.v1.ReplicaSetStatus. */
  zero(definition: string): Record<string, unknown>;
  /** Returns a message. Throws TypeError for a name without one. */
  message(name: string): Message;
  /** Returns undefined for custom resources and kinds without a protobuf form. */
  messageOfKind(kind: GroupVersionKind): Message | undefined;
  /** Returns the published keywords of a definition. */
  rawSchema(definition: string): RawSchema | undefined;
  /** Returns the default that documents show for a member although nothing fills it in. */
  markedDefault(definition: string, member: string): unknown;
  /** Returns the description of a definition, or undefined when there is none. */
  describe(definition: string): TypeDescription | undefined;
  /** Returns the published name: "core.v1.Pod" → "io.k8s.api.core.v1.Pod". */
  publishedName(definition: string): string;
  /** Returns the kinds that a definition describes. */
  kindsOf(definition: string): readonly unknown[] | undefined;
}
