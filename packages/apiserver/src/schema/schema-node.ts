// SchemaNode: one place in an object's schema, the same for built-in kinds and custom resources.
// Made by builtin-schemas.ts and crd/structural-schema.ts; read by decoding, defaulting, pruning, patches and apply.

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
  /** The embedded Go structs that hold a member: `hostPath` of a volume is in `VolumeSource`. Built-in kinds only. */
  readonly embedded?: ReadonlyMap<string, readonly string[]> | undefined;
  /** The schema as published (OpenAPI words), for value validation and `kubectl explain`. */
  readonly raw?: Readonly<Record<string, unknown>> | undefined;
}
