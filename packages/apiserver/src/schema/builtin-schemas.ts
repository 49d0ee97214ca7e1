// Schemas of the built-in kinds as SchemaNodes, made from the facts' OpenAPI definitions on first use. Above:
// decoding, patches, apply, OpenAPI. Below: @kapstan/kinds/facts.
import { getOwn } from '@kapstan/api';
import { type GoTypeName, goTypeFacts, type RawSchema, schemaFacts } from '@kapstan/kinds/facts';
import { embeddedStructs } from './embedded-structs.ts';
import type { SchemaNode } from './schema-node.ts';

const definitions = new Map<string, SchemaNode>();

/** The schema of a built-in kind: `builtinSchema('apps/v1', 'Deployment')`. Undefined for a kind that Kubernetes 1.36 does not publish. */
export function builtinSchema(apiVersion: string, kind: string): SchemaNode | undefined {
  const name = builtinDefinitionName(apiVersion, kind);
  return name === undefined ? undefined : definitionSchema(name);
}

/** The definition behind a kind: "apps/v1", "Deployment" → "apps.v1.Deployment". */
export function builtinDefinitionName(apiVersion: string, kind: string): string | undefined {
  const facts = schemaFacts();
  const own = getOwn(facts.kinds, `${apiVersion}/${kind}`);
  if (typeof own === 'string') return own;
  const shared = getOwn(facts.kindsInManyGroupVersions, kind) as
    | { schema: string; groupVersions: string[] }
    | undefined;
  return shared?.groupVersions.includes(apiVersion) ? shared.schema : undefined;
}

/** A definition by its name in the facts: "core.v1.PodSpec". Throws TypeError for an unknown one. */
export function definitionSchema(name: string): SchemaNode {
  const known = definitions.get(name);
  if (known !== undefined) return known;
  const raw = getOwn(schemaFacts().definitions, name) as RawSchema | undefined;
  if (raw === undefined) throw new TypeError(`no definition ${name}`);
  const node = new LazySchemaNode(raw, namesOf(name));
  definitions.set(name, node);
  return node;
}

/** `core.v1.PodSpec` → `v1.PodSpec`; `meta/v1.ObjectMeta` → `v1.ObjectMeta`; `machinery/api.resource.Quantity` → `resource.Quantity`. */
function goTypeOf(name: string): string {
  return name
    .slice(name.lastIndexOf('/') + 1)
    .split('.')
    .slice(-2)
    .join('.');
}

const freeForm = new Set(['meta/v1.FieldsV1', 'machinery/runtime.RawExtension', 'crd/apiextensions.v1.JSON']);
const freeFormTypes = new Set([...freeForm].map(goTypeOf));

/** Names that Go has for the types of one place. */
interface GoNames {
  readonly goType?: string;
  readonly definition?: string;
  /** Of its fields. */
  readonly fields?: ReadonlyMap<string, GoTypeName>;
  /** Of what is in a list or map. */
  readonly elements?: GoTypeName;
}

/** Reads the OpenAPI words of one place; members become nodes when they are looked at. */
class LazySchemaNode implements SchemaNode {
  readonly raw: RawSchema;
  readonly goType?: string;
  readonly #names: GoNames;
  #properties: ReadonlyMap<string, SchemaNode> | undefined;
  #items: SchemaNode | undefined;
  #values: SchemaNode | true | undefined;

  constructor(raw: RawSchema, names: GoNames) {
    this.raw = raw;
    this.#names = names;
    if (names.goType !== undefined) this.goType = names.goType;
  }

  // JSON schema allows `type` to be absent where another word tells it (README of the facts).
  get type(): SchemaNode['type'] {
    if (this.raw.properties !== undefined || this.raw.additionalProperties !== undefined) return 'object';
    if (this.raw.items !== undefined) return 'array';
    return this.raw.type as SchemaNode['type'];
  }

  get format(): string | undefined {
    return this.raw.format as string | undefined;
  }

  get properties(): ReadonlyMap<string, SchemaNode> | undefined {
    if (this.raw.properties === undefined) return undefined;
    this.#properties ??= new Map(
      Object.entries(this.raw.properties as Record<string, RawSchema>).map(([key, value]) => [
        key,
        nodeOf(value, this.#names.fields?.get(key)),
      ]),
    );
    return this.#properties;
  }

  get additionalProperties(): SchemaNode | true | undefined {
    const raw = this.raw.additionalProperties;
    if (raw === undefined || raw === false) return undefined;
    this.#values ??= raw === true ? true : nodeOf(raw as RawSchema, this.#names.elements);
    return this.#values;
  }

  get items(): SchemaNode | undefined {
    if (this.raw.items === undefined) return undefined;
    this.#items ??= nodeOf(this.raw.items as RawSchema, this.#names.elements);
    return this.#items;
  }

  get required(): readonly string[] | undefined {
    return this.raw.required as readonly string[] | undefined;
  }

  get default(): unknown {
    return this.raw.default;
  }

  get enum(): readonly unknown[] | undefined {
    return this.raw.enum as readonly unknown[] | undefined;
  }

  get listType(): SchemaNode['listType'] {
    return this.raw['x-kubernetes-list-type'] as SchemaNode['listType'];
  }

  get listMapKeys(): readonly string[] | undefined {
    return this.raw['x-kubernetes-list-map-keys'] as readonly string[] | undefined;
  }

  get mapType(): SchemaNode['mapType'] {
    return this.raw['x-kubernetes-map-type'] as SchemaNode['mapType'];
  }

  get patchStrategy(): readonly string[] | undefined {
    return (this.raw['x-kubernetes-patch-strategy'] as string | undefined)?.split(',');
  }

  get patchMergeKey(): string | undefined {
    return this.raw['x-kubernetes-patch-merge-key'] as string | undefined;
  }

  get intOrString(): boolean {
    return this.raw.format === 'int-or-string';
  }

  get embedded(): ReadonlyMap<string, readonly string[]> | undefined {
    return this.#names.definition === undefined ? undefined : embeddedStructs(this.#names.definition);
  }

  get preserveUnknownFields(): boolean {
    return this.goType !== undefined && freeFormTypes.has(this.goType);
  }
}

/**
 * A reference may carry words of its own (list and patch strategies of the field): they win over the definition's.
 * `name` is that of the Go type of the value, or of what is in it.
 */
function nodeOf(raw: RawSchema, name: GoTypeName | undefined): SchemaNode {
  if (typeof raw.$ref !== 'string') return new LazySchemaNode(raw, goNamesOf(raw, name));
  const { $ref, ...own } = raw;
  const target = definitionSchema($ref);
  if (Object.keys(own).length === 0) return target;
  return new LazySchemaNode({ ...(target.raw ?? {}), ...own }, namesOf($ref));
}

function goNamesOf(raw: RawSchema, name: GoTypeName | undefined): GoNames {
  if (name === undefined) return {};
  const isCollection = raw.items !== undefined || raw.additionalProperties !== undefined;
  if (typeof name === 'string') return isCollection ? { elements: name } : { goType: name };
  const { collection: goType, elements } = name;
  return { ...(goType === undefined ? {} : { goType }), ...(elements === undefined ? {} : { elements }) };
}

function namesOf(definition: string): GoNames {
  return { goType: goTypeOf(definition), definition, fields: fieldNamesOf(definition) };
}

function fieldNamesOf(name: string): ReadonlyMap<string, GoTypeName> {
  return new Map(Object.entries(goTypeFacts()[name] ?? {}));
}
