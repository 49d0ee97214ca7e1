// Collects the component schemas of an OpenAPI v3 document: the definitions that a group version's kinds refer to, in
// OpenAPI keywords. Kinds with Go types take them from the server's types, which shorten names and omit keywords that
// follow from others; custom-schema.ts makes the others from their structural schemas.
import { formatApiVersion, type GroupVersion, getOwn, type SlicedWork, setOwn } from '@kapstan/api/internal';
import type { ResourceCatalog } from '../registry/definition/catalog.ts';
import type { ResourceDefinition } from '../registry/definition/resource-definition.ts';
import { metaTypes } from '../schema/meta-types.ts';
import type { ApiTypes } from '../schema/node/schema-node.ts';
import type { RawSchema, TypeDescription } from '../schema/node/schema-source.ts';
import { customSchema } from './custom-schema.ts';
import { GoDefaults } from './go-defaults.ts';

type Schema = Record<string, unknown>;

const kindsWord = 'x-kubernetes-group-version-kind';

export interface ComponentSchemasOptions {
  /** Types from which the definitions are made. */
  readonly types: ApiTypes;
  /** Group version of the document. A kind of many group versions then lists only this one and the core's. Default: all. */
  readonly groupVersion?: GroupVersion | undefined;
  /** OpenAPI version for custom resources. Built-in schemas always have v3, which swagger-schema.ts converts. */
  readonly version: 'v2' | 'v3';
}

/** Collects definitions with everything that they refer to. */
export class ComponentSchemas {
  readonly types: ApiTypes;
  readonly #options: ComponentSchemasOptions;
  readonly #defaults: GoDefaults;
  readonly #schemas: Schema = {};
  #typeWords: Schema | undefined;

  constructor(options: ComponentSchemasOptions) {
    this.types = options.types;
    this.#options = options;
    this.#defaults = new GoDefaults(options.types);
  }

  /** Adds a definition by its name and returns its published name. */
  add(name: string): string {
    const published = this.types.publishedName(name);
    if (Object.hasOwn(this.#schemas, published)) return published;
    const raw = this.types.rawSchema(name);
    if (raw === undefined) throw new TypeError(`no definition ${name}`);
    // The entry is set before its members are added, because definitions refer to themselves.
    this.#schemas[published] = {};
    const texts = this.types.describe(name);
    const schema = this.#expand(raw, { definition: name, texts });
    if (texts?.description !== undefined) schema.description = texts.description;
    const kinds = this.#kindsOf(name);
    if (kinds.length > 0) schema[kindsWord] = kinds;
    this.#schemas[published] = schema;
    return published;
  }

  refTo(name: string): Schema {
    return { $ref: refTo(this.add(name)) };
  }

  /** Adds the kind and the list kind of a resource and returns their published names. */
  *addResource(definition: ResourceDefinition): SlicedWork<{ readonly kind: string; readonly list: string }> {
    if (definition.schema.types === undefined) return yield* this.#addCustom(definition);
    const apiVersion = formatApiVersion(definition);
    const name = this.types.nameOf(apiVersion, definition.kind);
    if (name === undefined) throw new TypeError(`no definition for ${apiVersion} ${definition.kind}`);
    const list = this.types.nameOf(apiVersion, definition.listKind);
    return { kind: this.add(name), list: list === undefined ? '' : this.add(list) };
  }

  /** Returns all schemas, sorted by name. */
  all(): Readonly<Schema> {
    return Object.fromEntries(Object.entries(this.#schemas).sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  *#addCustom(definition: ResourceDefinition): SlicedWork<{ readonly kind: string; readonly list: string }> {
    const [kind, list] = [customName(definition, definition.kind), customName(definition, definition.listKind)];
    const { group, version, selectableFields } = definition;
    const selectable = selectableFields.map((fieldPath) => ({ fieldPath }));
    const words = (name: string): Schema => ({
      [kindsWord]: [{ group, kind: name, version }],
      ...(selectable.length === 0 ? {} : { 'x-kubernetes-selectable-fields': selectable }),
    });
    const schema = yield* this.#customKind(definition);
    this.#schemas[kind] = { ...schema, ...words(definition.kind) };
    this.#schemas[list] = {
      type: 'object',
      description: `${definition.listKind} is a list of ${definition.kind}`,
      required: ['items'],
      properties: {
        ...this.#typeMembers(),
        items: { type: 'array', description: this.#itemsText(definition.resource), items: { $ref: refTo(kind) } },
        metadata: this.#described('meta/v1.ListMeta', this.#textOf(anyList, 'metadata') ?? listMetadataText),
      },
      ...words(definition.listKind),
    };
    return { kind, list };
  }

  *#customKind({ schema, published }: ResourceDefinition): SlicedWork<Schema> {
    const { version } = this.#options;
    const raw = (published?.hasSchema === false ? undefined : schema.raw) as Schema | undefined;
    if (raw === undefined) return { type: 'object' };
    // kubectl would mistake the listed members for all members.
    const keepsAll = raw['x-kubernetes-preserve-unknown-fields'] === true || published?.keepsUnknownFields === true;
    if (version === 'v2' && keepsAll) return { type: 'object' };
    const object = { ...this.#typeMembers(), metadata: this.#metadata() };
    const words = yield* customSchema(raw, { version, embedded: object });
    return { ...words, properties: { ...(getOwn(words, 'properties') as Schema | undefined), ...object } };
  }

  /** Returns apiVersion and kind, described as in every list. */
  #typeMembers(): Schema {
    const apiVersion = this.#textOf(anyList, 'apiVersion') ?? 'The group and version of the kind.';
    const kind = this.#textOf(anyList, 'kind') ?? 'The kind of the object.';
    this.#typeWords ??= {
      apiVersion: { type: 'string', description: apiVersion },
      kind: { type: 'string', description: kind },
    };
    return this.#typeWords;
  }

  #textOf(definition: string, member: string): string | undefined {
    return this.types.describe(definition)?.properties[member];
  }

  #itemsText(resource: string): string {
    return this.#textOf(anyList, 'items')?.replace('{resource}', resource) ?? `The ${resource} of the list.`;
  }

  #metadata(): Schema {
    return this.#described('meta/v1.ObjectMeta', this.#textOf(anyObject, 'metadata') ?? metadataText);
  }

  #described(definition: string, description: string): Schema {
    return { allOf: [this.refTo(definition)], description };
  }

  #kindsOf(name: string): readonly unknown[] {
    const all = (this.types.kindsOf(name) ?? []) as readonly GroupVersion[];
    const { groupVersion } = this.#options;
    if (groupVersion === undefined || all.length === 1) return all;
    const { group, version } = groupVersion;
    const shown = all.filter((kind) => kind.group === '' || (kind.group === group && kind.version === version));
    return shown.sort((a, b) => (a.group < b.group ? -1 : 1));
  }

  /**
   * Adds the parts that the facts leave out: types that follow from the members, full names, descriptions, zero values.
   */
  #expand(raw: RawSchema, within: Within): Schema {
    const { $ref, ...rest } = raw as Schema;
    const schema = this.#expandMembers(rest, within);
    if ($ref === undefined) return schema;
    const reference = this.refTo($ref as string);
    return Object.keys(schema).length === 0 ? reference : { allOf: [reference], ...schema };
  }

  #expandMembers(raw: Schema, within: Within): Schema {
    const schema: Schema = { ...raw };
    const properties = getOwn(raw, 'properties') as Record<string, RawSchema> | undefined;
    if (properties !== undefined) {
      const expanded: Schema = {};
      for (const [name, member] of Object.entries(properties))
        setOwn(expanded, name, this.#member(name, member, within));
      schema.properties = expanded;
      schema.type ??= 'object';
    }
    const values = getOwn(raw, 'additionalProperties');
    if (typeof values === 'object' && values !== null) schema.additionalProperties = this.#element(values as RawSchema);
    if (values !== undefined) schema.type ??= 'object';
    const items = getOwn(raw, 'items') as RawSchema | undefined;
    if (items !== undefined) {
      schema.items = this.#element(items);
      schema.type ??= 'array';
    }
    return schema;
  }

  #member(name: string, raw: RawSchema, { definition, texts }: Within): Schema {
    const zero = raw.default === undefined ? this.#defaults.ofMember(definition, name, raw) : undefined;
    const text = texts === undefined ? fallbackText(name, raw) : (getOwn(texts.properties, name) as string | undefined);
    const said = {
      ...(zero === undefined ? {} : { default: zero }),
      ...(text === undefined ? {} : { description: text }),
    };
    return this.#expand({ ...raw, ...said }, nowhere);
  }

  #element(raw: RawSchema): Schema {
    const zero = this.#defaults.ofElement(raw);
    return this.#expand(zero === undefined ? raw : { ...raw, default: zero }, nowhere);
  }
}

/** The definition whose members are expanded. */
interface Within {
  readonly definition: string;
  readonly texts: TypeDescription | undefined;
}
const nowhere: Within = { definition: '', texts: undefined };

// Two names of the build's descriptions (write-descriptions.mjs): members that objects and lists of every kind have.
const anyObject = 'meta/v1.PartialObjectMetadata';
const anyList = 'meta/v1.PartialObjectMetadataList';
const metadataText = 'Metadata that every object has: its name, labels, annotations and more.';
const listMetadataText = 'Metadata of the list: its version, and where it continues.';

/** Describes the metadata of a type of which the build found no descriptions. */
function fallbackText(name: string, { $ref }: RawSchema): string | undefined {
  return name === 'metadata' && $ref === 'meta/v1.ObjectMeta' ? metadataText : undefined;
}

/**
 * Returns the types that a server's documents show: the types of the first resource that has Go types, or else the types that every server
 * has.
 */
export function shownTypes(catalog: ResourceCatalog): ApiTypes {
  return (
    catalog.all().find(({ definition }) => definition.schema.types !== undefined)?.definition.schema.types ?? metaTypes
  );
}

export function refTo(published: string): string {
  return `#/components/schemas/${published}`;
}

/** Converts "CronTab" of stable.example.com/v1 to "com.example.stable.v1.CronTab". */
function customName({ group, version }: GroupVersion, kind: string): string {
  return `${group.split('.').reverse().join('.')}.${version}.${kind}`;
}
