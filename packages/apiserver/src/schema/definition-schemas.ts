// Makes SchemaNodes from the OpenAPI definitions of a source, each on first use. Used by decoding, patches and apply.
import { getOwn } from '@kapstan/api/internal';
import { embeddedStructs } from './embedded-structs.ts';
import type { ApiTypes, SchemaNode } from './node/schema-node.ts';
import type { GoTypeName, RawSchema, SchemaSource } from './node/schema-source.ts';

export class DefinitionSchemas {
  readonly source: SchemaSource;
  /** The types that the nodes name as their own. */
  readonly types: ApiTypes;
  readonly #nodes = new Map<string, SchemaNode>();

  constructor(source: SchemaSource, types: ApiTypes) {
    this.source = source;
    this.types = types;
  }

  /** Returns the name of a kind's definition. */
  nameOf(apiVersion: string, kind: string): string | undefined {
    const data = this.source.schemas();
    const own = getOwn(data.kinds, `${apiVersion}/${kind}`);
    if (typeof own === 'string') return own;
    const shared = getOwn(data.kindsInManyGroupVersions, kind) as
      | { schema: string; groupVersions: string[] }
      | undefined;
    return shared?.groupVersions.includes(apiVersion) ? shared.schema : undefined;
  }

  /** Returns a definition by its name. Throws TypeError for an unknown one. */
  node(name: string): SchemaNode {
    const known = this.#nodes.get(name);
    if (known !== undefined) return known;
    const raw = getOwn(this.source.schemas().definitions, name) as RawSchema | undefined;
    if (raw === undefined) throw new TypeError(`no definition ${name}`);
    const node = new LazySchemaNode(raw, this.namesOf(name), this);
    this.#nodes.set(name, node);
    return node;
  }

  namesOf(definition: string): GoNames {
    const fields = new Map(Object.entries(this.source.goTypes()[definition] ?? {}));
    return { goType: goTypeOf(definition), definition, fields };
  }
}

/**
 * Returns Go's name: `core.v1.PodSpec` → `v1.PodSpec`; `meta/v1.ObjectMeta` → `v1.ObjectMeta`;
 * `machinery/api.resource.Quantity` → `resource.Quantity`.
 */
function goTypeOf(name: string): string {
  return name
    .slice(name.lastIndexOf('/') + 1)
    .split('.')
    .slice(-2)
    .join('.');
}

const freeForm = new Set(['meta/v1.FieldsV1', 'machinery/runtime.RawExtension', 'crd/apiextensions.v1.JSON']);
const freeFormTypes = new Set([...freeForm].map(goTypeOf));

/** Go's names for the types of one place. */
interface GoNames {
  readonly goType?: string | undefined;
  readonly definition?: string | undefined;
  /** Names of the types of its fields. */
  readonly fields?: ReadonlyMap<string, GoTypeName> | undefined;
  /** Name of the type of a list's items or a map's values. */
  readonly elements?: GoTypeName | undefined;
}

/**
 * Reads the OpenAPI keywords of one place once, because every write reads several of them at each place. Members become
 * nodes when they are used.
 */
class LazySchemaNode implements SchemaNode {
  readonly raw: RawSchema;
  readonly type: SchemaNode['type'];
  readonly format: string | undefined;
  readonly goType: string | undefined;
  readonly required: readonly string[] | undefined;
  readonly default: unknown;
  readonly enum: readonly unknown[] | undefined;
  readonly listType: SchemaNode['listType'];
  readonly listMapKeys: readonly string[] | undefined;
  readonly mapType: SchemaNode['mapType'];
  readonly intOrString: boolean;
  readonly preserveUnknownFields: boolean;
  readonly #names: GoNames;
  readonly #schemas: DefinitionSchemas;
  readonly #hasProperties: boolean;
  readonly #hasItems: boolean;
  readonly #hasValues: boolean;
  #properties: ReadonlyMap<string, SchemaNode> | undefined;
  #items: SchemaNode | undefined;
  #values: SchemaNode | true | undefined;

  constructor(raw: RawSchema, names: GoNames, schemas: DefinitionSchemas) {
    this.raw = raw;
    this.#names = names;
    this.#schemas = schemas;
    this.#hasProperties = raw.properties !== undefined;
    this.#hasItems = raw.items !== undefined;
    this.#hasValues = raw.additionalProperties !== undefined && raw.additionalProperties !== false;
    this.type = typeOf(raw);
    this.format = raw.format as string | undefined;
    this.goType = names.goType;
    this.required = raw.required as readonly string[] | undefined;
    this.default = raw.default;
    this.enum = raw.enum as readonly unknown[] | undefined;
    this.listType = raw['x-kubernetes-list-type'] as SchemaNode['listType'];
    this.listMapKeys = raw['x-kubernetes-list-map-keys'] as readonly string[] | undefined;
    this.mapType = raw['x-kubernetes-map-type'] as SchemaNode['mapType'];
    this.intOrString = raw.format === 'int-or-string';
    this.preserveUnknownFields = names.goType !== undefined && freeFormTypes.has(names.goType);
  }

  markedDefault(member: string): unknown {
    const { definition } = this.#names;
    return definition === undefined ? undefined : this.#schemas.types.markedDefault(definition, member);
  }

  get properties(): ReadonlyMap<string, SchemaNode> | undefined {
    if (!this.#hasProperties) return undefined;
    this.#properties ??= new Map(
      Object.entries(this.raw.properties as Record<string, RawSchema>).map(([key, value]) => [
        key,
        nodeOf(value, this.#names.fields?.get(key), this.#schemas),
      ]),
    );
    return this.#properties;
  }

  get additionalProperties(): SchemaNode | true | undefined {
    if (!this.#hasValues) return undefined;
    const raw = this.raw.additionalProperties;
    this.#values ??= raw === true ? true : nodeOf(raw as RawSchema, this.#names.elements, this.#schemas);
    return this.#values;
  }

  get items(): SchemaNode | undefined {
    if (!this.#hasItems) return undefined;
    this.#items ??= nodeOf(this.raw.items as RawSchema, this.#names.elements, this.#schemas);
    return this.#items;
  }

  get patchStrategy(): readonly string[] | undefined {
    return (this.raw['x-kubernetes-patch-strategy'] as string | undefined)?.split(',');
  }

  get patchMergeKey(): string | undefined {
    return this.raw['x-kubernetes-patch-merge-key'] as string | undefined;
  }

  get types(): ApiTypes {
    return this.#schemas.types;
  }

  get embedded(): ReadonlyMap<string, readonly string[]> | undefined {
    const { definition } = this.#names;
    return definition === undefined ? undefined : embeddedStructs(this.#schemas.source.protobuf(), definition);
  }
}

// JSON schema allows `type` to be absent where another keyword implies it (README of the facts).
function typeOf(raw: RawSchema): SchemaNode['type'] {
  if (raw.properties !== undefined || raw.additionalProperties !== undefined) return 'object';
  return raw.items === undefined ? (raw.type as SchemaNode['type']) : 'array';
}

/**
 * Returns the node of a schema. Keywords next to a reference (list and patch strategies of the field) override the
 * definition's. `name` is the name of the value's Go type, or of the type of its elements.
 */
function nodeOf(raw: RawSchema, name: GoTypeName | undefined, schemas: DefinitionSchemas): SchemaNode {
  if (typeof raw.$ref !== 'string') return new LazySchemaNode(raw, goNamesOf(raw, name), schemas);
  const { $ref, ...own } = raw;
  const target = schemas.node($ref);
  if (Object.keys(own).length === 0) return target;
  return new LazySchemaNode({ ...(target.raw ?? {}), ...own }, schemas.namesOf($ref), schemas);
}

function goNamesOf(raw: RawSchema, name: GoTypeName | undefined): GoNames {
  if (name === undefined) return {};
  const isCollection = raw.items !== undefined || raw.additionalProperties !== undefined;
  if (typeof name === 'string') return isCollection ? { elements: name } : { goType: name };
  const { collection: goType, elements } = name;
  return { goType, elements };
}
