// Several controllers share one SharedInformerFactory: Deployment → ReplicaSet → Pod, and pods that become ready.
import type { Clock, Logger, ResourceClient } from '@kapstan/api';
import { SharedInformerFactory } from '@kapstan/informers';
import { deploymentController } from './deployment-controller.ts';
import { podReadiness } from './pod-readiness.ts';
import { replicaSetController } from './replica-set-controller.ts';

export interface SharedInformersOptions {
  /** Ends the controllers. */
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Runs the three controllers until the signal aborts; resolves when their work has ended. */
export async function runSharedInformers(client: ResourceClient, options: SharedInformersOptions): Promise<void> {
  const { signal, clock, logger } = options;
  const factory = new SharedInformerFactory(client, { resyncMs: 30_000, clock });
  const ports = { client, clock, logger };
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
