// Keeps one ReplicaSet per pod template for a Deployment; the ReplicaSet of the current template has all the replicas. A simplified form of
// kube-controller-manager's loop: it replaces all pods at once instead of rolling them.
import { createHash } from 'node:crypto';
import { type DeepReadonly, deepCopy, type ResourceClient } from '@kapstan/api';
import { controllerReference, isControlledBy } from '@kapstan/controller';
import type { SharedInformerFactory } from '@kapstan/informers';
import { Deployment, ReplicaSet } from '@kapstan/kinds/apps/v1';
import { type ControllerPorts, ownedController, type RunnableController } from './owned-controller.ts';

const hashLabel = 'pod-template-hash';

export function deploymentController(factory: SharedInformerFactory, ports: ControllerPorts): RunnableController {
  const { client, clock, logger } = ports;
  const deployments = factory.informer(Deployment).lister;
  const replicaSets = factory.informer(ReplicaSet).lister;

  return ownedController(factory, {
    kind: Deployment,
    owns: [ReplicaSet],
    clock,
    logger,
    reconcile: async ({ namespace, name }) => {
      const deployment = deployments.namespace(namespace).find(name);
      if (deployment === undefined || deployment.metadata?.deletionTimestamp !== undefined) return undefined;
      const hash = templateHash(deployment);
      const owned = replicaSets
        .namespace(namespace)
        .list()
        .filter((set) => isControlledBy(set, deployment));
      const present = owned.find((set) => set.metadata?.labels?.[hashLabel] === hash);
      if (present === undefined) await client.create(ReplicaSet, newReplicaSet(deployment, hash));
      for (const set of owned) await scale(client, set, set === present ? (deployment.spec?.replicas ?? 1) : 0);
      await client.patch(
        Deployment,
        { namespace, name },
        { type: 'merge', body: { status: statusOf(deployment, owned, present) } },
        { subresource: 'status' },
      );
      return undefined;
    },
  });
}

async function scale(client: ResourceClient, set: DeepReadonly<ReplicaSet>, replicas: number): Promise<void> {
  if (set.spec?.replicas === replicas) return;
  const { name = '', namespace = '' } = set.metadata ?? {};
  await client.patch(ReplicaSet, { name, namespace }, { type: 'merge', body: { spec: { replicas } } });
}

function statusOf(
  deployment: DeepReadonly<Deployment>,
  owned: readonly DeepReadonly<ReplicaSet>[],
  present: DeepReadonly<ReplicaSet> | undefined,
) {
  const sum = (count: (set: DeepReadonly<ReplicaSet>) => number | undefined): number =>
    owned.reduce((total, set) => total + (count(set) ?? 0), 0);
  return {
    observedGeneration: deployment.metadata?.generation ?? 0,
    replicas: sum((set) => set.status?.replicas),
    updatedReplicas: present?.status?.replicas ?? 0,
    readyReplicas: sum((set) => set.status?.readyReplicas),
    availableReplicas: sum((set) => set.status?.availableReplicas),
  };
}

function newReplicaSet(deployment: DeepReadonly<Deployment>, hash: string): ReplicaSet {
  const { name, namespace = '' } = deployment.metadata ?? {};
  const labels = { ...deployment.spec?.template?.metadata?.labels, [hashLabel]: hash };
  const template = deepCopy(deployment.spec?.template);
  return {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    metadata: {
      name: `${name}-${hash}`,
      namespace,
      labels,
      ownerReferences: [controllerReference(Deployment, deployment)],
    },
    spec: {
      replicas: deployment.spec?.replicas ?? 1,
      selector: { matchLabels: { ...deployment.spec?.selector?.matchLabels, [hashLabel]: hash } },
      template: { ...template, metadata: { ...template?.metadata, labels } },
    },
  };
}

function templateHash(deployment: DeepReadonly<Deployment>): string {
  return createHash('sha256').update(JSON.stringify(deployment.spec?.template)).digest('hex').slice(0, 10);
}
