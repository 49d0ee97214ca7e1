// Collects the component schemas of an OpenAPI v3 document: the definitions that a group version's kinds refer to, in
// OpenAPI keywords. Kinds with Go types take them from the server's types, which shorten names and omit what follows
// from other keywords; the others from their structural schemas.
import { formatApiVersion, type GroupVersion, getOwn, setOwn } from '@kapstan/api/internal';
import type { ResourceCatalog } from '../registry/definition/catalog.ts';
import type { ResourceDefinition } from '../registry/definition/resource-definition.ts';
import { metaTypes } from '../schema/meta-types.ts';
import type { ApiTypes } from '../schema/schema-node.ts';
import type { RawSchema } from '../schema/schema-source.ts';

type Schema = Record<string, unknown>;

const typeFields = {
  apiVersion: {
    type: 'string',
    description: 'APIVersion defines the group and the version in which the object is written.',
  },
  kind: { type: 'string', description: 'Kind names what the object is.' },
};

/** Collects definitions with everything that they refer to. */
export class ComponentSchemas {
  readonly types: ApiTypes;
  readonly #schemas: Schema = {};

  /** `types` has the definitions. */
  constructor(types: ApiTypes) {
    this.types = types;
  }

  /** Adds a definition by its name and returns its published name. */
  add(name: string): string {
    const published = this.types.publishedName(name);
    if (Object.hasOwn(this.#schemas, published)) return published;
    const raw = this.types.rawSchema(name);
    if (raw === undefined) throw new TypeError(`no definition ${name}`);
    // Set before its members are added, because definitions refer to themselves.
    this.#schemas[published] = {};
    const schema = this.#expand(raw);
    const kinds = this.types.kindsOf(name);
    if (kinds !== undefined) schema['x-kubernetes-group-version-kind'] = kinds;
    this.#schemas[published] = schema;
    return published;
  }

  /** Adds the kind and the list kind of a resource and returns the published name of the kind. */
  addResource(definition: ResourceDefinition): string {
    if (definition.schema.types === undefined) return this.#addStructural(definition);
    const apiVersion = formatApiVersion(definition);
    const list = this.types.nameOf(apiVersion, definition.listKind);
    if (list !== undefined) this.add(list);
    const name = this.types.nameOf(apiVersion, definition.kind);
    if (name === undefined) throw new TypeError(`no definition for ${apiVersion} ${definition.kind}`);
    return this.add(name);
  }

  /** Returns all schemas, sorted by name. */
  all(): Readonly<Schema> {
    return Object.fromEntries(Object.entries(this.#schemas).sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  #addStructural(definition: ResourceDefinition): string {
    const name = customName(definition, definition.kind);
    const { group, version, kind, listKind } = definition;
    const meta = this.add('meta/v1.ObjectMeta');
    const listMeta = this.add('meta/v1.ListMeta');
    const raw = (definition.schema.raw ?? { type: 'object' }) as Schema;
    const own = (getOwn(raw, 'properties') ?? {}) as Schema;
    this.#schemas[name] = {
      ...raw,
      type: 'object',
      properties: {
        ...own,
        ...typeFields,
        metadata: { allOf: [{ $ref: refTo(meta) }], description: 'What all objects have.' },
      },
      'x-kubernetes-group-version-kind': [{ group, kind, version }],
    };
    this.#schemas[customName(definition, listKind)] = {
      type: 'object',
      required: ['items'],
      properties: {
        ...typeFields,
        items: { type: 'array', items: { $ref: refTo(name) } },
        metadata: { allOf: [{ $ref: refTo(listMeta) }] },
      },
      'x-kubernetes-group-version-kind': [{ group, kind: listKind, version }],
    };
    return name;
  }

  /** Adds what the facts leave out: types that follow from the members, full names. */
  #expand(raw: RawSchema): Schema {
    const { $ref, ...rest } = raw as Schema;
    const schema = this.#expandMembers(rest);
    if ($ref === undefined) return schema;
    const reference = { $ref: refTo(this.add($ref as string)) };
    return Object.keys(schema).length === 0 ? reference : { allOf: [reference], ...schema };
  }

  #expandMembers(raw: Schema): Schema {
    const schema: Schema = { ...raw };
    const properties = getOwn(raw, 'properties') as Record<string, RawSchema> | undefined;
    if (properties !== undefined) {
      const expanded: Schema = {};
      for (const [name, member] of Object.entries(properties)) setOwn(expanded, name, this.#expand(member));
      schema.properties = expanded;
      schema.type ??= 'object';
    }
    const values = getOwn(raw, 'additionalProperties');
    if (typeof values === 'object' && values !== null) schema.additionalProperties = this.#expand(values as RawSchema);
    if (values !== undefined) schema.type ??= 'object';
    const items = getOwn(raw, 'items') as RawSchema | undefined;
    if (items !== undefined) {
      schema.items = this.#expand(items);
      schema.type ??= 'array';
    }
    return schema;
  }
}

/**
 * Returns the types that a server's documents show: those of the first resource with Go types, else those that every
 * server has.
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
