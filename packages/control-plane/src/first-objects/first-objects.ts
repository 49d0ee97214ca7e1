// The objects that every cluster has: the namespaces and priority classes that kube-apiserver creates itself.
import { isAlreadyExists, isNotFound, type ResourceClient } from '@kapstan/api';
import { Namespace } from '@kapstan/kinds/core/v1';
import { PriorityClass } from '@kapstan/kinds/scheduling.k8s.io/v1';
import type { ObjectCreator } from '@kapstan/kubernetes';

const namespaces = ['default', 'kube-system', 'kube-public', 'kube-node-lease'];

/** The descriptions are part of the objects, which programs compare. Source: pkg/apis/scheduling/v1 SystemPriorityClasses. */
const priorityClasses = [
  [
    'system-node-critical',
    2_000_001_000,
    'Used for system critical pods that must not be moved from their current node.',
  ],
  [
    'system-cluster-critical',
    2_000_000_000,
    'Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.',
  ],
] as const;

/**
 * Creates the missing objects; existing ones stay unchanged. It checks first, because every creation passes admission, and a failing
 * webhook must not keep a server from starting.
 */
export async function createFirstObjects(client: ResourceClient, creator: ObjectCreator): Promise<void> {
  await Promise.all([
    keepFirstNamespaces(client, creator),
    ...priorityClasses.map(async ([name, value, description]) =>
      unlessPresent(client.get(PriorityClass, { name }), () =>
        creator.create(PriorityClass, {
          apiVersion: 'scheduling.k8s.io/v1',
          kind: 'PriorityClass',
          metadata: { name },
          value,
          description,
        }),
      ),
    ),
  ]);
}

/** Creates a namespace again that somebody has deleted. Source: pkg/controlplane/controller/systemnamespaces. */
export async function keepFirstNamespaces(client: ResourceClient, creator: ObjectCreator = client): Promise<void> {
  await Promise.all(
    namespaces.map((name) =>
      unlessPresent(client.get(Namespace, { name }), () =>
        creator.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } }),
      ),
    ),
  );
}

async function unlessPresent(reading: Promise<unknown>, create: () => Promise<unknown>): Promise<void> {
  try {
    await reading;
  } catch (error) {
    if (!isNotFound(error)) throw error;
    // Another server may have created it meanwhile.
    await create().catch((refusal: unknown) => {
      if (!isAlreadyExists(refusal)) throw refusal;
    });
  }
}
