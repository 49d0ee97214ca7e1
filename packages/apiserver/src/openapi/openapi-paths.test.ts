import type { UnstructuredObject } from '@kapstan/api';
import { expect, it } from 'vitest';
import type { ByteSubresource } from '../registry/definition/resource-definition.ts';
import { testDefinition } from '../testing/store-fixture.ts';
import { resourcePaths } from './openapi-paths.ts';

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
const paths = resourcePaths(testDefinition({ subresources: [log] }), 'io.k8s.api.core.v1.ConfigMap') as Record<
  string,
  Record<string, Operation>
>;
const item = '/api/v1/namespaces/{namespace}/configmaps/{name}';

it('each operation has an id of its own, its tag and a text', () => {
  const operations = Object.values(paths).flatMap((path) =>
    Object.entries(path).flatMap(([method, operation]) => (method === 'parameters' ? [] : [operation])),
  );
  const ids = operations.map(({ operationId }) => operationId);
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids).toContain('readCoreV1NamespacedConfigMapLog');
  expect(ids).toContain('listCoreV1ConfigMapForAllNamespaces');
  for (const { tags, description } of operations)
    expect([tags, description]).toEqual([['core_v1'], expect.stringMatching(/ConfigMap$/)]);
});

it('a subresource of bytes names the options that it takes', () => {
  const named = paths[`${item}/log`]?.get?.parameters.map(({ name, in: place, schema }) => [name, place, schema]) ?? [];
  expect(named).toEqual(
    expect.arrayContaining([
      ['follow', 'query', { type: 'boolean', uniqueItems: true }],
      ['tailLines', 'query', { type: 'integer', uniqueItems: true }],
      ['sinceTime', 'query', { type: 'string', format: 'date-time', uniqueItems: true }],
      ['container', 'query', { type: 'string', uniqueItems: true }],
    ]),
  );
  const whole = paths[item]?.get?.parameters.map(({ name }) => name);
  expect(whole).not.toContain('follow');
});
