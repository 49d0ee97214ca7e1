// Simulates scheduler and kubelet: a pod becomes Running and Ready a moment after its creation.
import { createHash } from 'node:crypto';
import { type DeepReadonly, formatTime } from '@kapstan/api';
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
      await client.patch(
        Pod,
        { namespace, name },
        { type: 'strategic', body: { status: runningStatus(pod, formatTime(clock.now())) } },
        { subresource: 'status' },
      );
      return undefined;
    },
  });
}

const conditionTypes = ['PodReadyToStartContainers', 'Initialized', 'Ready', 'ContainersReady', 'PodScheduled'];

/**
 * Returns the status that a kubelet reports when all containers run. Addresses and digests are derived from names, because nothing runs.
 */
function runningStatus(pod: DeepReadonly<Pod>, now: string): NonNullable<Pod['status']> {
  const { uid = '', generation } = pod.metadata ?? {};
  const [third = 0, fourth = 0] = createHash('sha256').update(uid).digest();
  const podIP = `10.244.${third}.${fourth}`;
  return {
    ...(generation === undefined ? {} : { observedGeneration: generation }),
    phase: 'Running',
    conditions: conditionTypes.map((type) => ({ type, status: 'True', lastTransitionTime: now })),
    hostIP: '127.0.0.1',
    hostIPs: [{ ip: '127.0.0.1' }],
    podIP,
    podIPs: [{ ip: podIP }],
    startTime: now,
    containerStatuses: (pod.spec?.containers ?? []).map(({ name, image = '' }) => ({
      name,
      image,
      imageID: `${image.replace(/:[^/]*$/, '')}@sha256:${digest(image)}`,
      containerID: `containerd://${digest(`${uid}/${name}`)}`,
      ready: true,
      started: true,
      restartCount: 0,
      lastState: {},
      state: { running: { startedAt: now } },
    })),
  };
}

const digest = (text: string): string => createHash('sha256').update(text).digest('hex');
