// Component schemas of an OpenAPI v3 document: the definitions that a group version's kinds reach, in OpenAPI's words.
// Built-in ones from the facts, which shorten names and leave out what follows; custom ones from their definitions.
import { formatApiVersion, type GroupVersion, getOwn, setOwn } from '@kapstan/api/internal';
import { type RawSchema, schemaFacts } from '@kapstan/kinds/facts';
import type { ResourceDefinition } from '../registry/resource-definition.ts';
import { builtinDefinitionName } from '../schema/builtin-schemas.ts';

type Schema = Record<string, unknown>;

const typeFields = {
  apiVersion: {
    type: 'string',
    description: 'APIVersion defines the group and the version in which the object is written.',
  },
  kind: { type: 'string', description: 'Kind names what the object is.' },
};

/** Collects definitions together with all that they refer to. */
export class ComponentSchemas {
  readonly #schemas: Schema = {};
  readonly #kindsOf = kindsByDefinition();

  /** Adds a built-in definition by its name in the facts; gives its published name. */
  add(name: string): string {
    const published = publishedName(name);
    if (Object.hasOwn(this.#schemas, published)) return published;
    const raw = getOwn(schemaFacts().definitions, name) as RawSchema | undefined;
    if (raw === undefined) throw new TypeError(`no definition ${name}`);
    // Before its members are looked at: definitions refer to themselves.
    this.#schemas[published] = {};
    const schema = this.#expand(raw);
    const kinds = this.#kindsOf.get(name);
    if (kinds !== undefined) schema['x-kubernetes-group-version-kind'] = kinds;
    this.#schemas[published] = schema;
    return published;
  }

  /** Adds the kind and the list kind of a resource; gives the published name of the kind. */
  addResource(definition: ResourceDefinition): string {
    if (definition.isCustom === true) return this.#addCustom(definition);
    const apiVersion = formatApiVersion(definition);
    const list = builtinDefinitionName(apiVersion, definition.listKind);
    if (list !== undefined) this.add(list);
    const name = builtinDefinitionName(apiVersion, definition.kind);
    if (name === undefined) throw new TypeError(`no definition for ${apiVersion} ${definition.kind}`);
    return this.add(name);
  }

  /** Sorted by name. */
  all(): Readonly<Schema> {
    return Object.fromEntries(Object.entries(this.#schemas).sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  #addCustom(definition: ResourceDefinition): string {
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

  /** Spells out what the facts leave out: types that follow from the members, full names. */
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

export function refTo(published: string): string {
  return `#/components/schemas/${published}`;
}

/** "core.v1.Pod" → "io.k8s.api.core.v1.Pod". */
function publishedName(name: string): string {
  for (const [short, [full]] of Object.entries(schemaFacts().prefixes)) {
    if (short !== '' && name.startsWith(short)) return `${full}${name.slice(short.length)}`;
  }
  return `${schemaFacts().prefixes['']?.[0] ?? ''}${name}`;
}

/** "CronTab" of stable.example.com/v1 → "com.example.stable.v1.CronTab". */
function customName({ group, version }: GroupVersion, kind: string): string {
  return `${group.split('.').reverse().join('.')}.${version}.${kind}`;
}

/** Definition → the group version kinds that it stands for. */
function kindsByDefinition(): ReadonlyMap<string, readonly unknown[]> {
  const kinds = new Map<string, unknown[]>();
  const note = (definition: string, apiVersion: string, kind: string): void => {
    const at = apiVersion.indexOf('/');
    const group = at < 0 ? '' : apiVersion.slice(0, at);
    const entry = { group, kind, version: apiVersion.slice(at + 1) };
    kinds.set(definition, [...(kinds.get(definition) ?? []), entry]);
  };
  const facts = schemaFacts();
  for (const [id, definition] of Object.entries(facts.kinds)) {
    const at = id.lastIndexOf('/');
    note(definition, id.slice(0, at), id.slice(at + 1));
  }
  for (const [kind, { schema, groupVersions }] of Object.entries(facts.kindsInManyGroupVersions)) {
    for (const apiVersion of groupVersions) note(schema, apiVersion, kind);
  }
  return kinds;
}
