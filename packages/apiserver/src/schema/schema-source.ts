// SchemaSource: the types of a set of kinds as data: what a package that brings kinds hands in. TypeRegistry makes of it what the server
// works with.

/** A definition: JSON schema words, `$ref` names another definition. */
export type RawSchema = Readonly<Record<string, unknown>>;

/** Short start of a definition's name → full starts, in OpenAPI and in protobuf. */
type Prefixes = Readonly<Record<string, readonly [openApi: string, protobuf: string]>>;

export interface SchemaData {
  readonly prefixes: Prefixes;
  /** "apps/v1/Deployment" → definition. */
  readonly kinds: Readonly<Record<string, string>>;
  readonly kindsInManyGroupVersions: Readonly<
    Record<string, { readonly schema: string; readonly groupVersions: readonly string[] }>
  >;
  readonly definitions: Readonly<Record<string, RawSchema>>;
}

/** `[number, type, label, flags, jsonName]`, trailing empty items dropped. */
export type ProtobufField = readonly [number: number, type: string, label?: string, flags?: string, jsonName?: string];

export interface ProtobufData {
  readonly messages: Readonly<Record<string, Readonly<Record<string, ProtobufField>>>>;
  /** Messages whose JSON is not the object of their fields. */
  readonly jsonForms: Readonly<Record<string, RawSchema>>;
}

/** Go's name of a field's type: a text names the scalar, also in a list or map; an object names the list or map itself. */
export type GoTypeName = string | { readonly collection?: string; readonly elements?: GoTypeName };

/** Definition → field → name. */
export type GoTypeData = Readonly<Record<string, Readonly<Record<string, GoTypeName>>>>;

/** Each function is called when a type is first asked for, and may be called again. */
export interface SchemaSource {
  schemas(): SchemaData;
  protobuf(): ProtobufData;
  goTypes(): GoTypeData;
  /** Kinds that have a message but no schema: "v1/RangeAllocation" → message. Default none. */
  readonly messageKinds?: ReadonlyMap<string, string>;
  /** apiVersion → kinds that a body may name, only to be refused for their version. Default none. */
  readonly retiredKinds?: ReadonlyMap<string, readonly string[]>;
  /** Whether a map of amounts in the definition is a list of resources, with thousandths as the least amounts. Default: none is. */
  isResourceList?(definition: string): boolean;
}
