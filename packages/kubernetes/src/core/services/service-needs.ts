// Decides which addresses and ports a service needs, mostly by its type. Source: needsClusterIP and similar functions in
// pkg/registry/core/service/storage.
import type { DeepReadonly } from '@kapstan/api';
import type { ServiceSpec } from '@kapstan/kinds/core/v1';

type ReadonlySpec = DeepReadonly<ServiceSpec>;

/** Unknown types count as needing one, until validation refuses them. */
export function needsClusterIp(spec: ReadonlySpec): boolean {
  return spec.type !== 'ExternalName';
}

/** True for types with node ports, whether or not ports are allocated. */
export function hasNodePorts(spec: ReadonlySpec): boolean {
  return spec.type === 'NodePort' || spec.type === 'LoadBalancer';
}

export function needsNodePort(spec: ReadonlySpec): boolean {
  return spec.type === 'NodePort' || (spec.type === 'LoadBalancer' && spec.allocateLoadBalancerNodePorts !== false);
}

export function needsHealthCheckPort(spec: ReadonlySpec): boolean {
  return spec.type === 'LoadBalancer' && spec.externalTrafficPolicy === 'Local';
}

/** True for services reached from outside, whose traffic may be kept on the node. Source: ExternallyAccessible. */
export function needsExternalTraffic(spec: ReadonlySpec): boolean {
  return hasNodePorts(spec) || (spec.type === 'ClusterIP' && (spec.externalIPs?.length ?? 0) > 0);
}

export function isHeadless(spec: ReadonlySpec): boolean {
  return spec.clusterIPs?.length === 1 && spec.clusterIPs[0] === 'None';
}
