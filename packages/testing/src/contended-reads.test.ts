import { isConflict } from '@kapstan/api';
import { ConfigMap } from '@kapstan/kinds/core/v1';
import { expect, it } from 'vitest';
import { testCluster } from './index.ts';

it('answers reads after a conflict though its time stands still', async () => {
  const cluster = await testCluster({ http: 'off' });
  const { client } = cluster;
  const target = { namespace: 'default', name: 'a' };
  const old = await client.create(ConfigMap, { metadata: target });
  await client.update(ConfigMap, { ...old, data: { a: '1' } });
  await expect(client.update(ConfigMap, { ...old, data: { a: '2' } })).rejects.toSatisfy(isConflict);
  for (let read = 0; read < 3; read += 1) expect((await client.get(ConfigMap, target)).data).toEqual({ a: '1' });
  await cluster.close();
});
