// Cases of every list, map and text of every built-in kind that can be created, from the published schemas. Each field
// of a definition is tested once, in the first kind that has it. Most of these objects are invalid somewhere, which is
// intended: reporting errors must be fast too.
import { discoveryFacts, type RawSchema, schemaFacts } from '@kapstan/kinds/facts';
import type { GrowthCase } from '../growth-case.ts';

/** Longest path from an object to a field, because schemas contain themselves (JSONSchemaProps). */
const deepest = 9;
/** Largest number of items, members and characters. Texts in a list's items are short: some dozen bytes each. */
const fullOf = { list: 30_000, map: 60_000, text: 1_000_000 } as const;

interface Place {
  /** Path at which the object is created. */
  readonly path: string;
  readonly head: { readonly apiVersion: string; readonly kind: string };
  /** Fields from the object to this one. A number denotes a list's only item. */
  readonly way: readonly (string | number)[];
}

/** Definitions and fields that already have a case. */
const seen = new Set<string>();

export const schemaCases: readonly GrowthCase[] = creatable().flatMap(({ place, definition }) =>
  casesOf(definition, place),
);

function creatable(): { place: Place; definition: string }[] {
  const { resources, standardVerbs } = discoveryFacts();
  return Object.entries(resources).flatMap(([id, facts]) => {
    const cut = id.lastIndexOf('/');
    const [apiVersion, resource] = [id.slice(0, cut), id.slice(cut + 1)];
    const definition = definitionOf(apiVersion, facts.kind);
    // A Binding is an action, and its errors are answered with 500, as by kube-apiserver.
    if (facts.optIn === true || definition === undefined || facts.kind === 'Binding') return [];
    if (!(facts.verbs ?? standardVerbs).includes('create')) return [];
    const root = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
    const path = facts.namespaced ? `${root}/namespaces/default/${resource}` : `${root}/${resource}`;
    return [{ place: { path, head: { apiVersion, kind: facts.kind }, way: [] }, definition }];
  });
}

function definitionOf(apiVersion: string, kind: string): string | undefined {
  const { kinds, kindsInManyGroupVersions } = schemaFacts();
  const shared = kindsInManyGroupVersions[kind];
  return kinds[`${apiVersion}/${kind}`] ?? (shared?.groupVersions.includes(apiVersion) ? shared.schema : undefined);
}

function casesOf(definition: string, place: Place): GrowthCase[] {
  const { properties = {} } = schemaFacts().definitions[definition] ?? {};
  return Object.entries(properties as Record<string, RawSchema>).flatMap(([name, field]) => {
    if (seen.has(`${definition} ${name}`) || name === 'status') return [];
    seen.add(`${definition} ${name}`);
    return casesOfField(`${definition} ${name}`, field, { ...place, way: [...place.way, name] });
  });
}

function casesOfField(name: string, field: RawSchema, place: Place): GrowthCase[] {
  if (place.way.length > deepest) return [];
  if (typeof field.$ref === 'string') return casesOf(field.$ref, place);
  const items = field.items as RawSchema | undefined;
  if (items !== undefined) return [caseOf(`list of ${name}`, 'list', { place, item: items }), ...below(items, place)];
  const values = field.additionalProperties as RawSchema | boolean | undefined;
  if (typeof values === 'object') return [caseOf(`map of ${name}`, 'map', { place, item: values })];
  return field.type === 'string' ? [caseOf(`text of ${name}`, 'text', { place, item: field })] : [];
}

function below(items: RawSchema, place: Place): GrowthCase[] {
  return typeof items.$ref === 'string' ? casesOf(items.$ref, { ...place, way: [...place.way, 0] }) : [];
}

function caseOf(
  name: string,
  type: keyof typeof fullOf,
  { place, item }: { readonly place: Place; readonly item: RawSchema },
): GrowthCase {
  const { path, head, way } = place;
  return {
    name,
    full: fullOf[type],
    request: (n) => {
      const object = { ...head, metadata: { name: 'growth' } };
      put(object, way, grown(type, n, item));
      return { method: 'POST', path, body: object };
    },
    made: [`${path}/growth`],
    tags: ['schema'],
  };
}

/** Sets the value at the end of a path, creating the objects on the way. */
function put(object: object, way: readonly (string | number)[], value: unknown): void {
  let at = object as Record<string | number, unknown>;
  for (const [index, step] of way.entries()) {
    const next = way[index + 1];
    if (next === undefined) at[step] = value;
    else at[step] ??= typeof next === 'number' ? [] : {};
    at = at[step] as Record<string | number, unknown>;
  }
}

function grown(type: keyof typeof fullOf, n: number, item: RawSchema): unknown {
  if (type === 'text') return item.format === 'byte' ? 'QUFB'.repeat(n / 4) : 'x'.repeat(n);
  if (type === 'list') return Array.from({ length: n }, (_, index) => sample(item, index, 1));
  return Object.fromEntries(Array.from({ length: n }, (_, index) => [`k${index}`, sample(item, index, 1)]));
}

/** Returns a small value for a schema: the required members, and one more that makes items distinct. */
function sample(schema: RawSchema, index: number, depth: number): unknown {
  const { $ref } = schema;
  const target = typeof $ref === 'string' ? (schemaFacts().definitions[$ref] ?? {}) : schema;
  if (target.properties !== undefined) return depth > 3 ? {} : sampleObject(target, index, depth);
  if (target.items !== undefined) return [sample(target.items as RawSchema, index, depth + 1)];
  if (target.additionalProperties !== undefined) return {};
  switch (target.type) {
    case 'integer':
    case 'number':
      return (index % 60_000) + 1;
    case 'boolean':
      return true;
    default:
      return target.format === 'date-time'
        ? '2026-01-01T00:00:00Z'
        : target.format === 'int-or-string'
          ? 1
          : `v${index}`;
  }
}

function sampleObject(target: RawSchema, index: number, depth: number): Record<string, unknown> {
  const properties = target.properties as Record<string, RawSchema>;
  const required = (target.required as readonly string[] | undefined) ?? Object.keys(properties).slice(0, 1);
  return Object.fromEntries(required.map((name) => [name, sample(properties[name] ?? {}, index, depth + 1)]));
}
