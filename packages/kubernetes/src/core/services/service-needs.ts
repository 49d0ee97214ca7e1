// What a service of a type needs to be given. Source: pkg/registry/core/service/storage needsClusterIP and its like.
import type { DeepReadonly } from '@kapstan/api';
import type { ServiceSpec } from '@kapstan/kinds/core/v1';

type ReadonlySpec = DeepReadonly<ServiceSpec>;

/** Unknown types count as having one, until the validation refuses them. */
export function needsClusterIp(spec: ReadonlySpec): boolean {
  return spec.type !== 'ExternalName';
}

/** Node ports are part of the type, whether or not they are handed out. */
export function hasNodePorts(spec: ReadonlySpec): boolean {
  return spec.type === 'NodePort' || spec.type === 'LoadBalancer';
}

export function needsNodePort(spec: ReadonlySpec): boolean {
  return spec.type === 'NodePort' || (spec.type === 'LoadBalancer' && spec.allocateLoadBalancerNodePorts !== false);
}

export function needsHealthCheckPort(spec: ReadonlySpec): boolean {
  return spec.type === 'LoadBalancer' && spec.externalTrafficPolicy === 'Local';
}

/** Reached from outside the cluster: its traffic can be kept on the node. Source: ExternallyAccessible. */
export function needsExternalTraffic(spec: ReadonlySpec): boolean {
  return hasNodePorts(spec) || (spec.type === 'ClusterIP' && (spec.externalIPs?.length ?? 0) > 0);
}

export function isHeadless(spec: ReadonlySpec): boolean {
  return spec.clusterIPs?.length === 1 && spec.clusterIPs[0] === 'None';
}
