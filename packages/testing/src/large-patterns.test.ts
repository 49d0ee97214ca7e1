import { defineResource } from '@kapstan/api';
import { longestTurnMs } from '@kapstan/apiserver/testing';
import { expect, it } from 'vitest';
import { testCluster } from './test-cluster.ts';

const Text = defineResource({
  group: 'demo.dev',
  version: 'v1',
  kind: 'Text',
  spec: {
    type: 'object',
    properties: { text: { type: 'string', maxLength: 3 }, pattern: { type: 'string', maxLength: 500_000 } },
    required: ['text', 'pattern'],
    'x-kubernetes-validations': [{ rule: 'self.text.matches(self.pattern)' }],
  },
});

it('a large pattern of an object does not hold the program, without HTTP either', { timeout: 120_000 }, async () => {
  await using cluster = await testCluster({ http: 'off', crds: [Text.definition] });
  const { client } = cluster;
  const create = (name: string, pattern: string): Promise<unknown> =>
    client.create(Text, { metadata: { name, namespace: 'default' }, spec: { text: 'abc', pattern } });
  await create('small', 'a.c');
  const longest = await longestTurnMs(() => create('large', '((ab){0,30}){0,30}|abc'.repeat(400)));
  expect(longest).toBeLessThan(200);
  await expect(create('none', `${'[x-z]'.repeat(20_000)}1`)).rejects.toThrow('failed rule');
});
