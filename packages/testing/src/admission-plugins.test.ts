import { isForbidden, isNotFound } from '@kapstan/api';
import { forbidden } from '@kapstan/api/errors';
import type { AdmissionPlugin } from '@kapstan/apiserver';
import { ConfigMap } from '@kapstan/kinds/core/v1';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type TestCluster, testCluster } from './test-cluster.ts';

const owners: AdmissionPlugin = {
  name: 'Owners',
  admit: ({ operation, resource, object, context }) => {
    if (operation !== 'CREATE' || resource.resource !== 'configmaps' || object === undefined) return;
    const annotations = { ...object.metadata?.annotations, owner: context.user.name };
    object.metadata = { ...object.metadata, annotations };
  },
  validate: ({ resource, name, object }) => {
    if (object?.metadata?.annotations?.owner === 'root') throw forbidden(resource, name, 'root owns nothing');
  },
};
const metadata = { namespace: 'default', name: 'a' };

let cluster: TestCluster;
const start = async (disabled: readonly string[] = []): Promise<void> => {
  cluster = await testCluster({ http: 'off', controlPlane: { admission: { plugins: [owners], disabled } } });
};
beforeEach(() => start());
afterEach(() => cluster.close());

it('a plug-in of the program changes and refuses requests', async () => {
  const made = await cluster.client.create(ConfigMap, { metadata });
  expect(made.metadata?.annotations).toEqual({ owner: 'system:apiserver' });
  const body = { metadata: { annotations: { owner: 'root' } } };
  const refused = cluster.client.patch(ConfigMap, metadata, { type: 'merge', body });
  await expect(refused).rejects.toSatisfy(isForbidden);
  await expect(refused).rejects.toThrow('configmaps "a" is forbidden: root owns nothing');
});

it('a plug-in of the program stands beside those of the server, and can be disabled like them', async () => {
  const elsewhere = { metadata: { namespace: 'none', name: 'a' } };
  await expect(cluster.client.create(ConfigMap, elsewhere)).rejects.toSatisfy(isNotFound);
  await cluster.close();
  await start(['Owners']);
  expect((await cluster.client.create(ConfigMap, { metadata })).metadata?.annotations).toBeUndefined();
});
