// SchemaNode: one place in an object's schema, the same for built-in kinds and custom resources.
// Made by definition-schemas.ts and structural-schema.ts; read by decoding, defaulting, pruning, patches and apply.
import type { GroupVersionKind, SlicedWork } from '@kapstan/api/internal';
import type { Message } from './message.ts';
import type { RawSchema } from './schema-source.ts';

/**
 * A node of a schema. Members may be lazy getters, because built-in schemas are recursive and large. A node without
 * `type`, properties, items or additionalProperties takes any value.
 */
export interface SchemaNode {
  readonly type?: 'object' | 'array' | 'string' | 'integer' | 'number' | 'boolean' | undefined;
  readonly format?: string | undefined;
  readonly nullable?: boolean | undefined;
  /** Own members only: look up with `Map.get`, never by index. */
  readonly properties?: ReadonlyMap<string, SchemaNode> | undefined;
  /** Schema of the values of a map; `true` = any. */
  readonly additionalProperties?: SchemaNode | true | undefined;
  readonly items?: SchemaNode | undefined;
  readonly required?: readonly string[] | undefined;
  /** Deep-copied by whoever writes it into an object. */
  readonly default?: unknown;
  readonly enum?: readonly unknown[] | undefined;
  /** x-kubernetes-list-type. Absent means atomic. */
  readonly listType?: 'atomic' | 'set' | 'map' | undefined;
  readonly listMapKeys?: readonly string[] | undefined;
  /** x-kubernetes-map-type. Absent means granular. */
  readonly mapType?: 'atomic' | 'granular' | undefined;
  /** x-kubernetes-patch-strategy, split at commas: "merge", "retainKeys", "replace". Built-in kinds only. */
  readonly patchStrategy?: readonly string[] | undefined;
  readonly patchMergeKey?: string | undefined;
  readonly intOrString?: boolean | undefined;
  readonly preserveUnknownFields?: boolean | undefined;
  readonly embeddedResource?: boolean | undefined;
  /** Name of the Go type, for the texts of decoding errors: "v1.PodSpec". Built-in kinds only. */
  readonly goType?: string | undefined;
  /** The types of which this is one, where it has a Go type. */
  readonly types?: ApiTypes | undefined;
  /** The embedded Go structs that hold a member: `hostPath` of a volume is in `VolumeSource`. Built-in kinds only. */
  readonly embedded?: ReadonlyMap<string, readonly string[]> | undefined;
  /** The schema as published (OpenAPI words), for value validation and `kubectl explain`. */
  readonly raw?: Readonly<Record<string, unknown>> | undefined;
}

/** The types of a set of kinds: schema, Go form and protobuf message of each, by the name of its definition. */
export interface ApiTypes {
  /** The definition behind a kind: "apps/v1", "Deployment" → "apps.v1.Deployment". */
  nameOf(apiVersion: string, kind: string): string | undefined;
  /** A definition by its name: "core.v1.PodSpec". Throws TypeError for an unknown one. */
  schema(definition: string): SchemaNode;
  /** Undefined for a kind without a definition. */
  schemaOfKind(apiVersion: string, kind: string): SchemaNode | undefined;
  /** True for a kind that can be named, but is served in no version that its name has. */
  isRetired(kind: GroupVersionKind): boolean;
  /** Brings an object of a definition into its Go form, in place. See go-form.ts. */
  normalize(definition: string, object: Record<string, unknown>): void;
  /** The same for an object of any size. */
  normalizeInSlices(definition: string, object: Record<string, unknown>): SlicedWork<void>;
  /** The zero value of a definition: `{}` for most, `{ replicas: 0 }` for apps.v1.ReplicaSetStatus. */
  zero(definition: string): Record<string, unknown>;
  /** Throws TypeError for a name without a message. */
  message(name: string): Message;
  /** Undefined for custom resources and what has no protobuf form. */
  messageOfKind(kind: GroupVersionKind): Message | undefined;
  /** The words of a definition, as they are published. */
  rawSchema(definition: string): RawSchema | undefined;
  /** "core.v1.Pod" → "io.k8s.api.core.v1.Pod". */
  publishedName(definition: string): string;
  /** The kinds that a definition stands for. */
  kindsOf(definition: string): readonly unknown[] | undefined;
}
