import type { UnstructuredObject } from '@kapstan/api';
import { expect, it } from 'vitest';
import type { ByteSubresource } from '../registry/definition/resource-definition.ts';
import { testDefinition } from '../testing/store-fixture.ts';
import { resourcePaths, type TypeNames } from './openapi-paths.ts';

type Operation = {
  operationId: string;
  tags: string[];
  description: string;
  parameters: { name: string; in: string; schema: object }[];
};

const log: ByteSubresource<UnstructuredObject> = {
  type: 'bytes',
  name: 'log',
  verbs: ['get'],
  queryOptions: { follow: 'boolean', tailLines: 'integer', sinceTime: 'time', container: 'string' },
  get: async () => undefined,
};
const names: TypeNames = {
  kind: { $ref: 'ConfigMap' },
  list: { $ref: 'ConfigMapList' },
  refTo: (name) => ({ $ref: name }),
  refToKind: () => undefined,
};
type PathItem = Record<'get' | 'put' | 'post' | 'delete' | 'patch', Operation> & Pick<Operation, 'parameters'>;

const paths = resourcePaths(testDefinition({ subresources: [log] }), names) as Record<string, PathItem>;
const custom = resourcePaths(testDefinition({ group: 'example.com', isCustom: true }), names) as typeof paths;
const item = '/api/v1/namespaces/{namespace}/configmaps/{name}';

it('each operation has an id of its own, its tag and a text', () => {
  const operations = Object.values(paths).flatMap((path) =>
    Object.values(path).flatMap((operation) => (Array.isArray(operation) ? [] : [operation])),
  );
  const ids = operations.map(({ operationId }) => operationId);
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids).toContain('readCoreV1NamespacedConfigMapLog');
  expect(ids).toContain('listCoreV1ConfigMapForAllNamespaces');
  for (const { tags, description } of operations)
    expect([tags, description]).toEqual([['core_v1'], expect.stringMatching(/ConfigMap\b/)]);
});

it('a subresource of bytes names the options that it takes', () => {
  const named = paths[`${item}/log`]?.parameters.map(({ name, in: place, schema }) => [name, place, schema]) ?? [];
  expect(named).toEqual(
    expect.arrayContaining([
      ['follow', 'query', { type: 'boolean', uniqueItems: true }],
      ['tailLines', 'query', { type: 'integer', uniqueItems: true }],
      ['container', 'query', { type: 'string', uniqueItems: true }],
    ]),
  );
  expect(paths[item]?.parameters.map(({ name }) => name)).toEqual(['name', 'namespace', 'pretty']);
});

it('parameters that all operations of a path take are listed once', () => {
  const collection = paths['/api/v1/namespaces/{namespace}/configmaps'];
  expect(collection?.parameters.map(({ name }) => name)).toEqual(['namespace', 'pretty']);
  expect(collection?.post?.parameters.map(({ name }) => name)).toEqual(['dryRun', 'fieldManager', 'fieldValidation']);
});

it('built-in resources have the old paths of watches, custom ones do not', () => {
  expect(Object.keys(paths)).toContain('/api/v1/watch/namespaces/{namespace}/configmaps/{name}');
  expect(Object.keys(custom).filter((path) => path.includes('watch'))).toEqual([]);
});
