// Cases of definitions whose schemas, columns and versions grow, and of small objects of such definitions.
import { type GrowthCase, type GrowthRequest, members, times } from '../growth-case.ts';
import { growingDefinition, growingObject, growingObjects, growingPath } from './growing-definition.ts';

/** Sends the definition. The measurement ends with the answer; what is served of it is measured by {@link objectOf}. */
const creates = (name: string, full: number, request: (n: number) => GrowthRequest): GrowthCase => ({
  ...{ name: `definition: ${name}`, full, request, codes: [201, 413, 422] },
  get made(): readonly string[] {
    return [growingPath()];
  },
});

/** Creates one object of the definition once that is served. */
function objectOf(
  name: string,
  { full, definition, spec }: { readonly full: number; definition(n: number): GrowthRequest; spec(n: number): unknown },
): GrowthCase {
  return {
    ...{ name: `object of a definition: ${name}`, full, codes: [201, 422] },
    prepare: (n) => [definition(n), { method: 'GET', path: growingObjects(), isAwaited: true }],
    request: (n) => growingObject(spec(n)),
    get made(): readonly string[] {
      return [`${growingObjects()}/growth`, growingPath()];
    },
  };
}

const text = { type: 'string' };
const object = (properties: object, more: object = {}): object => ({ type: 'object', properties, ...more });
const fields = (n: number): object => object(members(n, () => text));

/** Objects inside each other, each with a default for itself and for a list. */
function nested(depth: number): object {
  let schema: object = { type: 'string', default: 'x' };
  const list = { type: 'array', items: text, default: ['x'] };
  for (let level = 0; level < depth; level++) schema = object({ a: schema, b: list }, { default: {} });
  return schema;
}

const defaults = (n: number): object =>
  object(
    members(n, () => object({ a: { ...text, default: 'x' } }, { default: {} })),
    { default: {} },
  );
const patterns = (n: number): object => object(members(n, (index) => ({ ...text, pattern: `^a${index}` })));
const columns = (n: number): object => ({
  additionalPrinterColumns: times(n, (index) => ({ name: `c${index}`, type: 'string', jsonPath: `.spec.k${index}` })),
});
const selectable = (n: number): object => ({
  selectableFields: times(n, (index) => ({ jsonPath: `.spec.k${index}` })),
});
const versions = (n: number): readonly string[] => times(n, (index) => `v${index + 1}`);

const asTable = 'application/json;as=Table;v=v1;g=meta.k8s.io';

export const definitionCases: readonly GrowthCase[] = [
  // Work in slices resumes through all levels, so depth alone costs more than in proportion: 0.23 s of CPU for 400 levels.
  creates('nested defaults', 150, (n) => growingDefinition(['v1'], nested(n))),
  creates('fields with defaults', 5_000, (n) => growingDefinition(['v1'], defaults(n))),
  creates('fields', 25_000, (n) => growingDefinition(['v1'], fields(n))),
  creates('selectable fields', 8_000, (n) => growingDefinition(['v1'], fields(n), selectable(n))),
  creates('columns', 15_000, (n) => growingDefinition(['v1'], fields(1), columns(n))),
  creates('required fields', 60_000, (n) =>
    growingDefinition(['v1'], object({}, { required: times(n, (index) => `k${index}`) })),
  ),
  creates('versions', 64, (n) => growingDefinition(versions(n), patterns(300))),
  {
    ...{ name: 'definition: a Table of many columns', full: 15_000, codes: [200] },
    prepare: (n) => [
      growingDefinition(['v1'], fields(1), columns(n)),
      { method: 'GET', path: growingObjects(), isAwaited: true },
      growingObject({ k0: 'a' }),
    ],
    request: () => ({ method: 'GET', path: growingObjects(), accept: asTable }),
    get made(): readonly string[] {
      return [`${growingObjects()}/growth`, growingPath()];
    },
  },
  objectOf('with fields that have defaults', {
    full: 5_000,
    definition: (n) => growingDefinition(['v1'], defaults(n)),
    spec: () => ({}),
  }),
  objectOf('with patterns', {
    full: 800,
    definition: (n) => growingDefinition(['v1'], patterns(n)),
    spec: (n) => members(n, () => 'b'),
  }),
  objectOf('without required fields', {
    full: 60_000,
    definition: (n) => growingDefinition(['v1'], object({}, { required: times(n, (index) => `k${index}`) })),
    spec: () => ({}),
  }),
];
