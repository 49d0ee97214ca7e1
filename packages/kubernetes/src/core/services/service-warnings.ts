// Warnings about fields of a service that have no effect. Source: pkg/api/service GetWarningsForService.
import type { DeepReadonly } from '@kapstan/api';
import type { Service, ServiceSpec } from '@kapstan/kinds/core/v1';
import { cidrWarnings, ipWarnings } from '../../validation/ip-warnings.ts';

const hints = 'service.kubernetes.io/topology-aware-hints';

export function serviceWarnings({ metadata, spec = {} }: DeepReadonly<Service>): string[] {
  const isHeadless = spec.type === 'ClusterIP' && spec.clusterIP === 'None';
  const isNamed = spec.type === 'ExternalName';
  const hasExternalIps = (spec.externalIPs?.length ?? 0) > 0;
  return [
    ...when(
      metadata?.annotations?.[hints] !== undefined,
      `annotation ${hints} is deprecated, please use service.kubernetes.io/topology-mode instead`,
    ),
    ...(isHeadless ? headlessWarnings(spec) : []),
    ...when(
      hasExternalIps && !isHeadless && !isNamed,
      'spec.externalIPs is deprecated and may no longer be implemented in some clusters',
    ),
    ...addressWarnings(spec),
    ...when(isNamed && hasExternalIps, 'spec.externalIPs is ignored when spec.type is "ExternalName"'),
    ...when(!isNamed && !!spec.externalName, 'spec.externalName is ignored when spec.type is not "ExternalName"'),
    ...when(
      spec.trafficDistribution === 'PreferClose',
      'spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"',
    ),
  ];
}

export function serviceStatusWarnings({ status }: DeepReadonly<Service>): string[] {
  return (status?.loadBalancer?.ingress ?? []).flatMap(({ ip }, index) =>
    ipWarnings(`status.loadBalancer.ingress[${index}]`, ip ?? ''),
  );
}

function when(isTold: boolean, warning: string): string[] {
  return isTold ? [warning] : [];
}

function headlessWarnings(spec: DeepReadonly<ServiceSpec>): string[] {
  return [
    ...when(!!spec.loadBalancerIP, 'spec.loadBalancerIP is ignored for headless services'),
    ...when((spec.externalIPs?.length ?? 0) > 0, 'spec.externalIPs is ignored for headless services'),
    ...when(spec.sessionAffinity !== 'None', 'spec.SessionAffinity is ignored for headless services'),
  ];
}

function addressWarnings(spec: DeepReadonly<ServiceSpec>): string[] {
  const listed = (['clusterIPs', 'externalIPs'] as const).flatMap((name) =>
    (spec[name] ?? []).flatMap((ip, index) => ipWarnings(`spec.${name}[${index}]`, ip)),
  );
  const ranges = (spec.loadBalancerSourceRanges ?? []).flatMap((range, index) =>
    cidrWarnings(`spec.loadBalancerSourceRanges[${index}]`, range),
  );
  return [...listed, ...ipWarnings('spec.loadBalancerIP', spec.loadBalancerIP ?? ''), ...ranges];
}
