import { defineResource } from '@kapstan/api';
import { expect, it } from 'vitest';
import { testCluster } from './test-cluster.ts';

const Box = defineResource({
  group: 'demo.dev',
  version: 'v1',
  kind: 'Box',
  spec: {
    type: 'object',
    properties: {
      size: { type: 'string', default: 'small' },
      free: {
        type: 'object',
        'x-kubernetes-preserve-unknown-fields': true,
        properties: { known: { type: 'object', properties: { a: { type: 'string' } } } },
      },
      pod: { type: 'object', 'x-kubernetes-embedded-resource': true, 'x-kubernetes-preserve-unknown-fields': true },
    },
  },
});

it('an apply whose fields pruning removes raises the generation each time, as in a kube-apiserver', async () => {
  const cluster = await testCluster({ crds: [Box.definition] });
  const client = await cluster.connect();
  const apply = async (name: string, spec: object): Promise<number | undefined> => {
    const { metadata } = await client.apply(Box, { metadata: { name, namespace: 'default' }, spec } as never, {
      fieldManager: 'm',
    });
    return metadata?.generation;
  };
  const pruned = { free: { known: { a: '1', unknown: { b: 1 } } } };
  expect([await apply('a', pruned), await apply('a', pruned), await apply('a', pruned)]).toEqual([1, 2, 3]);
  const pod = (metadata: object): object => ({ pod: { apiVersion: 'v1', kind: 'Pod', metadata } });
  const dated = pod({ name: 'p', creationTimestamp: null });
  expect([await apply('b', dated), await apply('b', dated)]).toEqual([1, 2]);
  const plain = { free: { known: { a: '1' }, other: 1 }, ...pod({ name: 'p' }) };
  expect([await apply('c', { ...plain, size: 'small' }), await apply('c', plain), await apply('c', plain)]).toEqual([
    1, 1, 1,
  ]);
  const stored = await client.get(Box, { namespace: 'default', name: 'a' });
  expect(stored.spec).toEqual({ size: 'small', free: { known: { a: '1' } } });
  await cluster.close();
}, 60_000);
