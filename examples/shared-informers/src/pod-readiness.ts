// Stands in for scheduler and kubelet: a pod becomes Running and Ready a moment after it was created.
import { formatTime } from '@kapstan/api';
import type { SharedInformerFactory } from '@kapstan/informers';
import { Pod } from '@kapstan/kinds/core/v1';
import { type ControllerPorts, ownedController, type RunnableController } from './owned-controller.ts';
import { isReady } from './replica-set-controller.ts';

const startUpMs = 300;

export function podReadiness(factory: SharedInformerFactory, ports: ControllerPorts): RunnableController {
  const { client, clock, logger } = ports;
  const pods = factory.informer(Pod).lister;
  const firstSeen = new Map<string, number>();

  return ownedController(factory, {
    kind: Pod,
    owns: [],
    clock,
    logger,
    reconcile: async ({ key, namespace, name }) => {
      const pod = pods.namespace(namespace).find(name);
      if (pod === undefined || isReady(pod)) {
        firstSeen.delete(key);
        return undefined;
      }
      const since = firstSeen.get(key) ?? clock.monotonicNow();
      firstSeen.set(key, since);
      const waitMs = since + startUpMs - clock.monotonicNow();
      if (waitMs > 0) return { requeueAfterMs: waitMs };
      const now = formatTime(clock.now());
      const conditions = ['PodScheduled', 'Initialized', 'ContainersReady', 'Ready'].map((type) => ({
        type,
        status: 'True',
        lastTransitionTime: now,
      }));
      await client.patch(
        Pod,
        { namespace, name },
        {
          type: 'strategic',
          subresource: 'status',
          body: { status: { phase: 'Running', startTime: now, conditions } },
        },
      );
      return undefined;
    },
  });
}
