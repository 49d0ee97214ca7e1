// What a service of a type needs to be given. Source: pkg/registry/core/service/storage needsClusterIP and its like.
import type { DeepReadonly } from '@kapstan/api';
import type { ServiceSpec } from '@kapstan/kinds/core/v1';

type ReadonlySpec = DeepReadonly<ServiceSpec>;

export function needsClusterIp(spec: ReadonlySpec): boolean {
  return spec.type === 'ClusterIP' || needsExternalTraffic(spec);
}

export function needsNodePort(spec: ReadonlySpec): boolean {
  return spec.type === 'NodePort' || (spec.type === 'LoadBalancer' && spec.allocateLoadBalancerNodePorts !== false);
}

export function needsHealthCheckPort(spec: ReadonlySpec): boolean {
  return spec.type === 'LoadBalancer' && spec.externalTrafficPolicy === 'Local';
}

/** Reached from outside the cluster: its traffic can be kept on the node. */
export function needsExternalTraffic(spec: ReadonlySpec): boolean {
  return spec.type === 'NodePort' || spec.type === 'LoadBalancer';
}
