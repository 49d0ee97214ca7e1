// One SharedInformerFactory under several controllers: Deployment → ReplicaSet → Pod, and pods that become ready.
import { type Clock, type ResourceClient, systemClock } from '@kapstan/api';
import { SharedInformerFactory } from '@kapstan/informers';
import { deploymentController } from './deployment-controller.ts';
import { podReadiness } from './pod-readiness.ts';
import { replicaSetController } from './replica-set-controller.ts';

/** Runs the three controllers until the signal aborts; resolves when their work has ended. */
export async function runSharedInformers(
  client: ResourceClient,
  signal: AbortSignal,
  clock: Clock = systemClock,
): Promise<void> {
  const factory = new SharedInformerFactory(client, { resyncMs: 30_000, clock });
  const ports = { client, clock };
  const controllers = [
    deploymentController(factory, ports),
    replicaSetController(factory, ports),
    podReadiness(factory, ports),
  ];
  factory.start();
  await factory.waitForCacheSync({ signal });
  await Promise.all(controllers.map((controller) => controller.run(signal)));
  await factory.close();
}
