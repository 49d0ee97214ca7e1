// Endpoints of a pod that lead to its node: exec, attach, portforward, proxy. There are no nodes behind this server:
// what can be answered without one is answered as Kubernetes does, the rest is refused with 501.
import { type DeepReadonly, newBadRequest, newNotImplemented } from '@kapstan/api';
import type { Pod } from '@kapstan/kinds/core/v1';
import type { ObjectSubresource, Verb } from '../../resource-definition.ts';

interface Connection {
  readonly name: string;
  readonly kind: string;
  readonly verbs: readonly Verb[];
  /** Throws when Kubernetes would refuse without asking the node. */
  check(pod: DeepReadonly<Pod>): void;
}

const connections: readonly Connection[] = [
  { name: 'attach', kind: 'PodAttachOptions', verbs: ['create', 'get'], check: requireNode },
  { name: 'exec', kind: 'PodExecOptions', verbs: ['create', 'get'], check: requireNode },
  { name: 'portforward', kind: 'PodPortForwardOptions', verbs: ['create', 'get'], check: requireNode },
  {
    name: 'proxy',
    kind: 'PodProxyOptions',
    verbs: ['create', 'delete', 'get', 'patch', 'update'],
    check: requireAddress,
  },
];

export function connectSubresources(): ObjectSubresource<Pod>[] {
  return connections.map((connection) => {
    return {
      type: 'object',
      name: connection.name,
      kind: { group: '', version: 'v1', kind: connection.kind },
      verbs: connection.verbs,
      connect: async (store, context, name) => {
        connection.check((await store.get(context, name)).object);
        throw newNotImplemented(`pods/${connection.name} is not served here: there are no nodes`);
      },
    };
  });
}

function requireNode(pod: DeepReadonly<Pod>): void {
  if (!pod.spec?.nodeName) throw newBadRequest(`pod ${pod.metadata?.name ?? ''} does not have a host assigned`);
}

function requireAddress(pod: DeepReadonly<Pod>): void {
  if (!pod.status?.podIP) throw newBadRequest('address not allowed');
}
