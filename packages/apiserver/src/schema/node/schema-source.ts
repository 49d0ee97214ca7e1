// SchemaSource holds the types of a set of kinds as data. A package with kinds passes it in, and TypeRegistry makes the
// server's types from it.

/** A definition in JSON schema keywords; `$ref` names another definition. */
export type RawSchema = Readonly<Record<string, unknown>>;

/** Full prefixes in OpenAPI and in protobuf by the short prefix of a definition's name. */
type Prefixes = Readonly<Record<string, readonly [openApi: string, protobuf: string]>>;

export interface SchemaData {
  readonly prefixes: Prefixes;
  /** Definitions by kind, for example "apps/v1/Deployment". */
  readonly kinds: Readonly<Record<string, string>>;
  readonly kindsInManyGroupVersions: Readonly<
    Record<string, { readonly schema: string; readonly groupVersions: readonly string[] }>
  >;
  readonly definitions: Readonly<Record<string, RawSchema>>;
}

/** A field as `[number, type, label, flags, jsonName]`; empty items at the end are dropped. */
export type ProtobufField = readonly [number: number, type: string, label?: string, flags?: string, jsonName?: string];

export interface ProtobufData {
  readonly messages: Readonly<Record<string, Readonly<Record<string, ProtobufField>>>>;
  /** Messages whose JSON is not an object of their fields. */
  readonly jsonForms: Readonly<Record<string, RawSchema>>;
}

/**
 * Go's name of a field's type. A text names the scalar, even in a list or map; an object names the list or map itself.
 */
export type GoTypeName = string | { readonly collection?: string; readonly elements?: GoTypeName };

/** Names of types by definition and field. */
export type GoTypeData = Readonly<Record<string, Readonly<Record<string, GoTypeName>>>>;

/** Descriptions of a type and of its members. Members without a description are absent. */
export interface TypeDescription {
  readonly description?: string;
  readonly properties: Readonly<Record<string, string>>;
}

/** Each function is called when a type is first used, and may be called again. */
export interface SchemaSource {
  schemas(): SchemaData;
  protobuf(): ProtobufData;
  goTypes(): GoTypeData;
  /** "core.v1.LocalObjectReference.name" → a default that documents show although nothing fills it in. Default none. */
  readonly markedDefaults?: ReadonlyMap<string, unknown>;
  /** Returns the descriptions by definition. The result is not kept. Default: no descriptions. */
  descriptions?(): Readonly<Record<string, TypeDescription>>;
  /** Kinds that have a message but no schema, each with its message, for example "v1/RangeAllocation". Default none. */
  readonly messageKinds?: ReadonlyMap<string, string>;
  /** Kinds by apiVersion that a body may name, but which are then refused for their version. Default none. */
  readonly retiredKinds?: ReadonlyMap<string, readonly string[]>;
  /**
   * Returns true when a map of amounts in the definition is a list of resources, rounded to thousandths. Default: no
   * map is.
   */
  isResourceList?(definition: string): boolean;
}
