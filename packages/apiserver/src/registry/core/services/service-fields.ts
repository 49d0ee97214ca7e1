// Fields of a service that the server fills: addresses and ports that it had, IP families. Source: pkg/registry/core/service/storage.
import type { DeepReadonly } from '@kapstan/api';
import type { ServiceSpec } from '@kapstan/kinds/core/v1';
import { jsonEqual } from '../../json-equality.ts';
import type { Field } from '../../validation/field.ts';
import { needsClusterIp, needsHealthCheckPort, needsNodePort } from './service-needs.ts';

type ReadonlySpec = DeepReadonly<ServiceSpec>;

/** An update that leaves allocated values out keeps them. Source: patchAllocatedValues, normalizeClusterIPs. */
export function carryAllocated(next: ServiceSpec, old: ReadonlySpec): void {
  alignClusterIps(next, old);
  if (needsClusterIp(old) && needsClusterIp(next)) carryAddresses(next, old);
  if (needsNodePort(old) && needsNodePort(next)) carryNodePorts(next, old);
  if (needsHealthCheckPort(old) && needsHealthCheckPort(next) && old.healthCheckNodePort) {
    next.healthCheckNodePort ||= old.healthCheckNodePort;
  }
}

function carryAddresses(next: ServiceSpec, old: ReadonlySpec): void {
  if (old.clusterIP) next.clusterIP ||= old.clusterIP;
  const hasAddresses = (next.clusterIPs?.length ?? 0) > 0;
  if (!hasAddresses && next.clusterIP === old.clusterIP) next.clusterIPs = [...(old.clusterIPs ?? [])];
  // The families stay with the addresses. Source: defaultOnReadIPFamilies.
  if (old.ipFamilies !== undefined) next.ipFamilies ??= [...old.ipFamilies];
  if (old.ipFamilyPolicy !== undefined) next.ipFamilyPolicy ??= old.ipFamilyPolicy;
}

/** Clients that know only the old field clusterIP change that one. */
function alignClusterIps(next: ServiceSpec, old: ReadonlySpec): void {
  const isListSame = jsonEqual(next.clusterIPs, old.clusterIPs);
  if (next.clusterIP === old.clusterIP || !isListSame) return;
  if (next.clusterIP) next.clusterIPs = [next.clusterIP, ...(next.clusterIPs ?? []).slice(1)];
  else delete next.clusterIPs;
}

function carryNodePorts(next: ServiceSpec, old: ReadonlySpec): void {
  const used = new Set((next.ports ?? []).map((port) => port.nodePort ?? 0));
  const byName = new Map((old.ports ?? []).map((port) => [port.name ?? '', port.nodePort ?? 0]));
  for (const port of next.ports ?? []) {
    const before = byName.get(port.name ?? '') ?? 0;
    if (!port.nodePort && before !== 0 && !used.has(before)) port.nodePort = before;
  }
}

/** A cluster of one family: IPv4. Source: initIPFamilyFields. */
export function setIpFamilies(at: Field, spec: ServiceSpec): void {
  if (spec.clusterIP && spec.clusterIPs === undefined) spec.clusterIPs = [spec.clusterIP];
  const isSelectorless = spec.clusterIP === 'None' && Object.keys(spec.selector ?? {}).length === 0;
  if (isSelectorless) {
    spec.ipFamilyPolicy ??= 'RequireDualStack';
    if (spec.ipFamilyPolicy === 'SingleStack') spec.ipFamilies ??= ['IPv4'];
    else if ((spec.ipFamilies?.length ?? 0) < 2)
      spec.ipFamilies = spec.ipFamilies?.[0] === 'IPv6' ? ['IPv6', 'IPv4'] : ['IPv4', 'IPv6'];
    return;
  }
  if (spec.ipFamilyPolicy === 'RequireDualStack') {
    at.child('ipFamilyPolicy').invalid(spec.ipFamilyPolicy, 'this cluster is not configured for dual-stack services');
  }
  spec.ipFamilies?.forEach((family, index) => {
    if (family === 'IPv6') at.child('ipFamilies').index(index).invalid(family, 'not configured on this cluster');
  });
  spec.ipFamilyPolicy ??= 'SingleStack';
  spec.ipFamilies ??= ['IPv4'];
}
