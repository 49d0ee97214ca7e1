// Every list, map and text of the built-in kinds that can be created, from the published schemas. Each field of a
// definition is taken once, from the first kind that has it.
import { discoveryFacts, type RawSchema, type ResourceFacts, schemaFacts } from '@kapstan/kinds/facts';

/** Longest path from an object to a field, because schemas contain themselves (JSONSchemaProps). */
const deepest = 9;

export interface SchemaResource {
  /** Path of the collection, in the namespace of all cases. */
  readonly path: string;
  readonly head: { readonly apiVersion: string; readonly kind: string };
  readonly definition: string;
  readonly hasUpdate: boolean;
  readonly hasStatus: boolean;
}

type Shape = 'list' | 'map' | 'text';

export interface SchemaField {
  /** "Pod spec.containers[0].env", unique. */
  readonly name: string;
  readonly shape: Shape;
  readonly resource: SchemaResource;
  /** Fields from the object to this one. A number denotes a list's only item. */
  readonly way: readonly (string | number)[];
  /** The schema of an item of a list, of a value of a map, or of the text. */
  readonly item: RawSchema;
}

/** All resources whose objects can be created, in the order of discovery. */
export const schemaResources: readonly SchemaResource[] = creatable();

function creatable(): SchemaResource[] {
  const { resources, standardVerbs } = discoveryFacts();
  return Object.entries(resources).flatMap(([id, facts]) => {
    const verbs = facts.verbs ?? standardVerbs;
    const cut = id.lastIndexOf('/');
    const [apiVersion, plural] = [id.slice(0, cut), id.slice(cut + 1)];
    const definition = definitionOf(apiVersion, facts.kind);
    // A Binding is an action, and its errors are answered with 500, as by kube-apiserver.
    if (facts.optIn === true || definition === undefined || facts.kind === 'Binding') return [];
    if (!verbs.includes('create')) return [];
    return [
      {
        path: pathOf(apiVersion, plural, facts),
        head: { apiVersion, kind: facts.kind },
        definition,
        hasUpdate: verbs.includes('update'),
        hasStatus: facts.sub?.status !== undefined,
      },
    ];
  });
}

function pathOf(apiVersion: string, plural: string, { namespaced }: ResourceFacts): string {
  const root = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  return namespaced ? `${root}/namespaces/default/${plural}` : `${root}/${plural}`;
}

function definitionOf(apiVersion: string, kind: string): string | undefined {
  const { kinds, kindsInManyGroupVersions } = schemaFacts();
  const shared = kindsInManyGroupVersions[kind];
  return kinds[`${apiVersion}/${kind}`] ?? (shared?.groupVersions.includes(apiVersion) ? shared.schema : undefined);
}

/** Returns the fields of these resources, without those of their status. */
export function fieldsOf(resources: readonly SchemaResource[]): SchemaField[] {
  const walk = new FieldWalk((way) => way[0] !== 'status');
  return resources.flatMap((resource) => walk.below(resource.definition, resource, []));
}

/** Returns the fields of the status of these resources. */
export function statusFieldsOf(resources: readonly SchemaResource[]): SchemaField[] {
  const walk = new FieldWalk((way) => way[0] === 'status');
  return resources
    .filter(({ hasStatus }) => hasStatus)
    .flatMap((resource) => walk.below(resource.definition, resource, []));
}

class FieldWalk {
  readonly #isWanted: (way: SchemaField['way']) => boolean;
  /** Definitions and fields that were met. */
  readonly #seen = new Set<string>();

  constructor(isWanted: (way: SchemaField['way']) => boolean) {
    this.#isWanted = isWanted;
  }

  below(definition: string, resource: SchemaResource, way: SchemaField['way']): SchemaField[] {
    const { properties = {} } = schemaFacts().definitions[definition] ?? {};
    return Object.entries(properties as Record<string, RawSchema>).flatMap(([name, schema]) => {
      const next = [...way, name];
      const id = `${definition} ${name}`;
      if (!this.#isWanted(next) || this.#seen.has(id)) return [];
      this.#seen.add(id);
      return this.#at(schema, resource, next);
    });
  }

  #at(schema: RawSchema, resource: SchemaResource, way: SchemaField['way']): SchemaField[] {
    if (way.length > deepest) return [];
    if (typeof schema.$ref === 'string') return this.below(schema.$ref, resource, way);
    const field = (shape: Shape, item: RawSchema): SchemaField => ({
      ...{ name: `${resource.head.kind} ${pathText(way)}`, shape, resource, way, item },
    });
    const items = schema.items as RawSchema | undefined;
    if (items !== undefined) return [field('list', items), ...this.#at(items, resource, [...way, 0])];
    const values = schema.additionalProperties as RawSchema | boolean | undefined;
    if (typeof values === 'object') return [field('map', values), ...this.#at(values, resource, [...way, 'k'])];
    return schema.type === 'string' ? [field('text', schema)] : [];
  }
}

const pathText = (way: SchemaField['way']): string =>
  way
    .map((step) => (typeof step === 'number' ? `[${step}]` : `.${step}`))
    .join('')
    .slice(1);
