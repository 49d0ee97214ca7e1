// Keeps the number of pods that a ReplicaSet specifies: missing ones are created, surplus ones deleted.
import { type DeepReadonly, deepCopy, isNotFound, type ResourceClient } from '@kapstan/api';
import { controllerReference, isControlledBy } from '@kapstan/controller';
import type { SharedInformerFactory } from '@kapstan/informers';
import { ReplicaSet } from '@kapstan/kinds/apps/v1';
import { Pod } from '@kapstan/kinds/core/v1';
import { type ControllerPorts, ownedController, type RunnableController } from './owned-controller.ts';

export function replicaSetController(factory: SharedInformerFactory, ports: ControllerPorts): RunnableController {
  const { client, clock, logger } = ports;
  const replicaSets = factory.informer(ReplicaSet).lister;
  const pods = factory.informer(Pod).lister;

  return ownedController(factory, {
    kind: ReplicaSet,
    owns: [Pod],
    clock,
    logger,
    reconcile: async ({ namespace, name }) => {
      const set = replicaSets.namespace(namespace).find(name);
      if (set === undefined || set.metadata?.deletionTimestamp !== undefined) return undefined;
      const owned = pods
        .namespace(namespace)
        .list()
        .filter((pod) => isControlledBy(pod, set) && !pod.metadata?.deletionTimestamp);
      const wanted = set.spec?.replicas ?? 1;
      // The names are fixed, so a stale cache cannot cause one pod too many: the second create is refused.
      const names = Array.from({ length: wanted }, (_, index) => `${name}-${index}`);
      const missing = names.filter((podName) => !owned.some((pod) => pod.metadata?.name === podName));
      const surplus = owned.filter((pod) => !names.includes(pod.metadata?.name ?? ''));
      for (const podName of missing) await client.create(Pod, newPod(set, podName));
      for (const pod of surplus) await deletePod(client, pod);
      const kept = owned.filter((pod) => !surplus.includes(pod));
      const ready = kept.filter(isReady).length;
      const status = {
        observedGeneration: set.metadata?.generation ?? 0,
        replicas: kept.length,
        readyReplicas: ready,
        availableReplicas: ready,
      };
      await client.patch(
        ReplicaSet,
        { namespace, name },
        { type: 'merge', body: { status } },
        { subresource: 'status' },
      );
      return undefined;
    },
  });
}

export function isReady(pod: DeepReadonly<Pod>): boolean {
  return (
    pod.status?.conditions?.some((condition) => condition.type === 'Ready' && condition.status === 'True') === true
  );
}

async function deletePod(client: ResourceClient, pod: DeepReadonly<Pod>): Promise<void> {
  const { name = '', namespace = '', uid = '' } = pod.metadata ?? {};
  await client.delete(Pod, { name, namespace }, { preconditions: { uid } }).catch((error: unknown) => {
    if (!isNotFound(error)) throw error;
  });
}

function newPod(set: DeepReadonly<ReplicaSet>, name: string): Pod {
  const template = deepCopy(set.spec?.template);
  const { namespace = '' } = set.metadata ?? {};
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { ...template?.metadata, name, namespace, ownerReferences: [controllerReference(ReplicaSet, set)] },
    ...(template?.spec === undefined ? {} : { spec: template.spec }),
  };
}
