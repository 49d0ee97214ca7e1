// Cases of custom resources that are read and written in another version than they are stored in: lists of many,
// objects with many members, many watches. server.mjs converts by a function that does next to nothing.
import type { GrowthCase, GrowthRequest } from '../growth-case.ts';
import { members, times } from '../growth-case.ts';
import { collectionOf, customObject, definitionOf, type GrowthKind } from './custom-resource-cases.ts';

const converted: GrowthKind = { kind: 'Converted', plural: 'converteds', versions: ['v1', 'v2'] };
const stored = collectionOf(converted, 'v1');
const other = collectionOf(converted, 'v2');

const entry = { type: 'object', properties: { name: { type: 'string' }, port: { type: 'integer', default: 1 } } };
export const convertedDefinition: GrowthRequest = definitionOf(converted, {
  values: { type: 'object', additionalProperties: { type: 'string' } },
  entries: { type: 'array', items: entry },
  changed: { type: 'string' },
});

const made = (of: object, version: string, name?: string): object =>
  customObject(of, { kind: converted.kind, version, ...(name !== undefined && { name }) });
const post = (path: string, of: object, name?: string): GrowthRequest => ({
  ...{ method: 'POST', path },
  body: made(of, path === stored ? 'v1' : 'v2', name),
});

/** A stored object has at most 1.5 MiB. */
const sizes = {
  'many members': { full: 60_000, spec: (n: number) => ({ values: members(n, () => 'x') }) },
  'many items': { full: 40_000, spec: (n: number) => ({ entries: times(n, (i) => ({ name: `n${i}` })) }) },
};

function ofLargeObject(title: string, { full, spec }: { full: number; spec: (n: number) => object }): GrowthCase[] {
  const path = `${other}/growth`;
  const after = (name: string, request: GrowthRequest): GrowthCase => ({
    ...{ name: `conversion: ${name} of ${title}`, full },
    prepare: (n) => [post(stored, spec(n))],
    request: () => request,
    ...{ codes: [200], made: [`${stored}/growth`] },
  });
  const patch = {
    method: 'PATCH',
    contentType: 'application/merge-patch+json',
    body: { spec: { changed: 'x' } },
  } as const;
  return [
    {
      ...{ name: `conversion: create of ${title}`, full },
      request: (n) => post(other, spec(n)),
      ...{ codes: [201], made: [`${stored}/growth`] },
    },
    after('read', { method: 'GET', path }),
    after('list', { method: 'GET', path: other }),
    after('patch', { ...patch, path }),
  ];
}

export const conversionCases: readonly GrowthCase[] = [
  ...Object.entries(sizes).flatMap(([title, size]) => ofLargeObject(title, size)),
  {
    ...{ name: 'conversion: list of many objects', full: 2_000 },
    prepare: (n) => times(n, (i) => post(stored, sizes['many members'].spec(20), `growth-${i}`)),
    request: () => ({ method: 'GET', path: other }),
    ...{ codes: [200], made: [stored] },
  },
  {
    ...{ name: 'conversion: list of many objects by a label', full: 2_000 },
    prepare: (n) => times(n, (i) => post(stored, sizes['many members'].spec(20), `growth-${i}`)),
    request: () => ({ method: 'GET', path: `${other}?labelSelector=a%3Db` }),
    ...{ codes: [200], made: [stored] },
  },
  {
    ...{ name: 'conversion: an event for many watches', full: 600 },
    watches: (n) => ({ count: n, path: `${other}?watch=true` }),
    request: () => post(stored, sizes['many members'].spec(20)),
    ...{ codes: [201], made: [`${stored}/growth`] },
  },
  {
    ...{ name: 'conversion: an event of a large object for many watches', full: 600 },
    watches: (n) => ({ count: n, path: `${other}?watch=true` }),
    request: () => post(stored, sizes['many members'].spec(2_000)),
    ...{ codes: [201], made: [`${stored}/growth`] },
  },
];
