// The objects that every cluster has: the namespaces that a kube-apiserver makes for itself.
import { isAlreadyExists, type ResourceClient } from '@kapstan/api';
import { Namespace } from '@kapstan/kinds/core/v1';

const namespaces = ['default', 'kube-system', 'kube-public', 'kube-node-lease'];

/** Creates those that are missing. */
export async function createFirstObjects(client: ResourceClient): Promise<void> {
  await Promise.all(
    namespaces.map((name) =>
      client.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } }).catch((error: unknown) => {
        if (!isAlreadyExists(error)) throw error;
      }),
    ),
  );
}
