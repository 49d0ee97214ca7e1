// Fields that an update of a service may omit and so keeps: its addresses and ports. Families: service-families.ts.
// Source: pkg/registry/core/service/storage patchAllocatedValues, normalizeClusterIPs.
import type { DeepReadonly } from '@kapstan/api';
import { jsonEqual } from '@kapstan/apiserver/internal';
import type { ServiceSpec } from '@kapstan/kinds/core/v1';
import { needsClusterIp, needsHealthCheckPort, needsNodePort } from './service-needs.ts';

type ReadonlySpec = DeepReadonly<ServiceSpec>;

/** Keeps allocated values that an update omits. */
export function carryAllocated(next: ServiceSpec, old: ReadonlySpec): void {
  if (needsClusterIp(old) && needsClusterIp(next)) carryAddresses(next, old);
  if (needsNodePort(old) && needsNodePort(next)) carryNodePorts(next, old);
  if (needsHealthCheckPort(old) && needsHealthCheckPort(next) && old.healthCheckNodePort) {
    next.healthCheckNodePort ||= old.healthCheckNodePort;
  }
  alignClusterIps(next, old);
}

function carryAddresses(next: ServiceSpec, old: ReadonlySpec): void {
  if (old.clusterIP) next.clusterIP ||= old.clusterIP;
  if ((next.clusterIPs?.length ?? 0) === 0 && old.clusterIPs !== undefined) next.clusterIPs = [...old.clusterIPs];
}

/** Clients that know only the old field clusterIP change only that one. */
function alignClusterIps(next: ServiceSpec, old: ReadonlySpec): void {
  const hasAddresses = (next.clusterIPs?.length ?? 0) > 0;
  const isFirstSame = (next.clusterIP ?? '') === (old.clusterIP ?? '');
  if (old.clusterIPs !== undefined && !hasAddresses && isFirstSame) next.clusterIPs = [...old.clusterIPs];
  if (isFirstSame || !jsonEqual(next.clusterIPs ?? [], old.clusterIPs ?? [])) return;
  if (next.clusterIP) next.clusterIPs = [next.clusterIP];
  else delete next.clusterIPs;
}

function carryNodePorts(next: ServiceSpec, old: ReadonlySpec): void {
  const before = new Set((old.ports ?? []).map((port) => port.nodePort ?? 0));
  const used = new Set((next.ports ?? []).map((port) => port.nodePort ?? 0).filter((port) => before.has(port)));
  const byName = new Map((old.ports ?? []).map((port) => [port.name ?? '', port.nodePort ?? 0]));
  for (const port of next.ports ?? []) {
    const had = byName.get(port.name ?? '') ?? 0;
    if (!port.nodePort && had !== 0 && !used.has(had)) port.nodePort = had;
  }
}

/** If only the old field clusterIP is set, it names the only address. */
export function normalizeClusterIps(spec: ServiceSpec): void {
  if (spec.clusterIP && (spec.clusterIPs?.length ?? 0) === 0) spec.clusterIPs = [spec.clusterIP];
}
