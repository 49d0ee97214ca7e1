// Cases of a custom resource with every schema keyword: each list, map and text grows, valid and invalid.
import type { GrowthCase, GrowthRequest } from '../growth-case.ts';
import { members, mostMembers, times } from '../growth-case.ts';

export const group: string = 'growth.example.com';
export const definitionPath: string = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

const text = { type: 'string' };
const entry = { type: 'object', required: ['name'], properties: { name: text, port: { type: 'integer', default: 1 } } };
const spec: Record<string, object> = {
  atomic: { type: 'array', items: text },
  set: { type: 'array', items: text, 'x-kubernetes-list-type': 'set' },
  map: { type: 'array', items: entry, 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'] },
  objects: { type: 'array', items: { ...entry, 'x-kubernetes-map-type': 'atomic' }, 'x-kubernetes-list-type': 'set' },
  lists: {
    ...{ type: 'array', 'x-kubernetes-list-type': 'set' },
    items: { type: 'array', items: text, 'x-kubernetes-list-type': 'atomic' },
  },
  integers: { type: 'array', items: { type: 'integer' }, 'x-kubernetes-list-type': 'set' },
  pairs: {
    ...{ type: 'array', items: { ...entry, required: ['name', 'port'] }, 'x-kubernetes-list-type': 'map' },
    'x-kubernetes-list-map-keys': ['name', 'port'],
  },
  notOne: { type: 'array', items: { type: 'string', not: { pattern: '^v1' } } },
  above: { type: 'array', items: { type: 'number', minimum: 5, exclusiveMinimum: true } },
  sized: { type: 'array', items: { type: 'object', minProperties: 1, maxProperties: 2, additionalProperties: text } },
  fewer: { type: 'object', additionalProperties: text, maxProperties: 10 },
  eighty: {
    type: 'array',
    items: {
      type: 'string',
      anyOf: times(40, (i) => ({ pattern: `^b${i}` })),
      oneOf: times(40, (i) => ({ pattern: `c${i}$` })),
    },
  },
  unique: { type: 'array', items: text, maxItems: 1_000_000, minItems: 0 },
  bounded: { type: 'array', items: { type: 'string', maxLength: 3, minLength: 2, pattern: '^[a-z]+$' } },
  numbers: { type: 'array', items: { type: 'number', minimum: 5, exclusiveMaximum: true, maximum: 9, multipleOf: 2 } },
  enums: { type: 'array', items: { type: 'string', enum: ['a', 'b', 'c'] } },
  longEnums: {
    type: 'array',
    items: { enum: times(5000, (a) => ({ a })), 'x-kubernetes-preserve-unknown-fields': true },
  },
  branches: { type: 'array', items: { type: 'object', oneOf: times(1000, (at) => ({ required: [`k${at}`] })) } },
  largePattern: { type: 'string', pattern: '((a{0,30}){0,30})$' },
  formats: { type: 'array', items: { type: 'string', format: 'date-time' } },
  anyOf: { type: 'array', items: { type: 'string', anyOf: [{ pattern: '^a' }, { maxLength: 1 }, { enum: ['x'] }] } },
  oneOf: { type: 'array', items: { type: 'string', oneOf: [{ pattern: '^a' }, { pattern: 'b$' }] } },
  allOf: { type: 'array', items: { type: 'string', allOf: [{ pattern: '^a' }, { not: { pattern: 'b$' } }] } },
  values: { type: 'object', additionalProperties: { type: 'integer' }, maxProperties: 1_000_000 },
  free: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
  either: { type: 'array', items: { 'x-kubernetes-int-or-string': true } },
  nullable: { type: 'array', items: { ...entry, nullable: true } },
  embedded: { type: 'object', 'x-kubernetes-embedded-resource': true, 'x-kubernetes-preserve-unknown-fields': true },
  text: { type: 'string', pattern: '^(a|b)*$', maxLength: 3_000_000 },
  ruledItems: { type: 'array', items: ruled({ type: 'integer' }, 'self >= 0') },
  ruledList: ruled({ type: 'array', items: { type: 'integer' } }, 'self.all(x, x >= 0)'),
  ruledPairs: ruled(
    { type: 'array', items: { type: 'integer' }, maxItems: 800 },
    'self.all(a, self.exists(b, b == a))',
  ),
  ruledMap: { type: 'object', additionalProperties: ruled({ type: 'integer' }, 'self >= 0') },
  ruledText: ruled({ type: 'string' }, "!self.contains('q')"),
};

/** Returns the schema with an additional rule. */
export function ruled(schema: object, rule: string, more: object = {}): object {
  return { ...schema, 'x-kubernetes-validations': [{ rule, ...more }] };
}

const status = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };

/** The names of a kind of custom resource, and its versions; the first is stored. */
export interface GrowthKind {
  readonly kind: string;
  readonly plural: string;
  readonly versions: readonly string[];
}

export function collectionOf({ plural }: Pick<GrowthKind, 'plural'>, version = 'v1'): string {
  return `/apis/${group}/${version}/namespaces/default/${plural}`;
}

/** Returns the request that creates a definition; all versions have the same schema. */
export function definitionOf({ kind, plural, versions }: GrowthKind, properties: object): GrowthRequest {
  const openAPIV3Schema = { type: 'object', properties: { spec: { type: 'object', properties }, status } };
  const body = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: { plural, kind },
      versions: versions.map((name, index) => ({
        ...{ name, served: true, storage: index === 0, subresources: { status: {} } },
        schema: { openAPIV3Schema },
      })),
    },
  };
  return { method: 'POST', path: definitionPath, body };
}

const growth: GrowthKind = { kind: 'Growth', plural: 'growths', versions: ['v1'] };
export const customResources: string = collectionOf(growth);

/** Request that is sent once, before the first case. */
export const customDefinition: GrowthRequest = definitionOf(growth, spec);

/** Returns an object with this spec. */
export function customObject(
  of: object,
  { kind, version = 'v1', name = 'growth' } = { kind: 'Growth' } as ObjectNames,
): object {
  return { apiVersion: `${group}/${version}`, kind, metadata: { name }, spec: of };
}

interface ObjectNames {
  readonly kind: string;
  /** Default: v1. */
  readonly version?: string;
  /** Default: growth, which each case deletes. */
  readonly name?: string;
}

const custom = (name: string, full: number, of: (n: number) => object): GrowthCase => ({
  name: `custom resource: ${name}`,
  full,
  request: (n) => ({
    ...{ method: 'POST', path: customResources },
    body: customObject(of(n)),
  }),
  made: [`${customResources}/growth`],
});

const patterned: GrowthKind = { kind: 'Patterned', plural: 'patterneds', versions: ['v1'] };

const words = (n: number) => times(n, (i) => `v${i}`);

export const customResourceCases: readonly GrowthCase[] = [
  custom('atomic list', 200_000, (n) => ({ atomic: words(n) })),
  custom('list of type set', 200_000, (n) => ({ set: words(n) })),
  custom('list of type set of doubles', 200_000, (n) => ({ set: times(n, () => 'a') })),
  custom('list of type map', 90_000, (n) => ({ map: times(n, (i) => ({ name: `n${i}` })) })),
  custom('list of type map of doubles', 90_000, (n) => ({ map: times(n, () => ({ name: 'a' })) })),
  custom('list of type set of objects', 90_000, (n) => ({ objects: times(n, (i) => ({ name: `n${i}` })) })),
  custom('list of type set of equal objects', 90_000, (n) => ({ objects: times(n, () => ({ name: 'a' })) })),
  custom('list of type set of lists', 100_000, (n) => ({ lists: times(n, (i) => [`n${i}`]) })),
  custom('list of type set of numbers', 300_000, (n) => ({ integers: times(n, (i) => i) })),
  custom('list of type map of two keys', 60_000, (n) => ({ pairs: times(n, (i) => ({ name: 'a', port: i })) })),
  custom('not', 200_000, (n) => ({ notOne: words(n) })),
  custom('numbers that must be above another', 300_000, (n) => ({ above: times(n, () => 5) })),
  custom('maps of too few members', 200_000, (n) => ({ sized: times(n, () => ({})) })),
  custom('maps of too many members', 60_000, (n) => ({ sized: times(n, () => ({ a: '', b: '', c: '' })) })),
  custom('a map of too many members', mostMembers, (n) => ({ fewer: members(n, () => 'x') })),
  custom('forty branches of anyOf and of oneOf', 40_000, (n) => ({ eighty: words(n) })),
  custom('bounded texts', 200_000, (n) => ({ bounded: words(n) })),
  custom('numbers', 300_000, (n) => ({ numbers: times(n, (i) => i + 0.5) })),
  custom('enums', 300_000, (n) => ({ enums: times(n, () => 'z') })),
  custom('values outside a long enum', 9000, (n) => ({ longEnums: times(n, () => ({ b: 1 })) })),
  custom('many branches', 1000, (n) => ({ branches: times(n, () => ({})) })),
  custom('large pattern', 60_000, (n) => ({ largePattern: 'ab'.repeat(n / 2) })),
  custom('formats', 100_000, (n) => ({ formats: times(n, () => 'no time') })),
  custom('anyOf', 200_000, (n) => ({ anyOf: words(n) })),
  custom('oneOf', 200_000, (n) => ({ oneOf: words(n) })),
  custom('allOf', 200_000, (n) => ({ allOf: words(n) })),
  custom('map of values', mostMembers, (n) => ({ values: members(n, (i) => i) })),
  custom('map of wrong values', mostMembers, (n) => ({ values: members(n, () => 'x') })),
  custom('fields of no schema', mostMembers, (n) => ({ free: members(n, () => 'x') })),
  custom('unknown fields', mostMembers, (n) => members(n, () => 'x', 'u')),
  custom('int or string', 300_000, (n) => ({ either: times(n, (i) => (i % 2 === 0 ? i : 'x')) })),
  custom('nulls', 300_000, (n) => ({ nullable: times(n, () => null) })),
  custom('embedded resource', mostMembers, (n) => ({
    embedded: { apiVersion: 'v1', kind: 'X', data: members(n, () => 1) },
  })),
  custom('long text with a pattern', 2_000_000, (n) => ({ text: 'ab'.repeat(n / 2) })),
  custom('rule on each item', 200_000, (n) => ({ ruledItems: times(n, (i) => i) })),
  custom('broken rule on each item', 200_000, (n) => ({ ruledItems: times(n, () => -1) })),
  custom('rule over a long list', 200_000, (n) => ({ ruledList: times(n, (i) => i) })),
  custom('rule over all pairs of a list', 790, (n) => ({ ruledPairs: times(n, (i) => i) })),
  custom('rule on each value of a map', mostMembers, (n) => ({ ruledMap: members(n, (i) => i) })),
  custom('rule over a long text', 2_000_000, (n) => ({ ruledText: 'ab'.repeat(n / 2) })),
  {
    name: 'definition with a long pattern',
    full: 500_000,
    request: (n) => definitionOf(patterned, { text: { type: 'string', pattern: `(${'ab|'.repeat(n / 3)}c)$` } }),
    made: [`${definitionPath}/${patterned.plural}.${group}`],
  },
  custom('deep nesting', 900, (n) => ({ free: JSON.parse(`${'{"a":'.repeat(n)}1${'}'.repeat(n)}`) as object })),
];
