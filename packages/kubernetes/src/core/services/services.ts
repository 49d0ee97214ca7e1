// Services. Source: pkg/registry/core/service/strategy.go, pkg/apis/core/v1/defaults.go SetDefaults_Service.
import type { DeepReadonly } from '@kapstan/api';
import { jsonEqual, nameIsDnsLabel } from '@kapstan/apiserver/internal';
import type { Service, ServiceSpec } from '@kapstan/kinds/core/v1';
import type { BuiltinKind, BuiltinServer } from '../../builtin/builtin-kind.ts';
import { serviceProxySubresource } from './proxy.ts';
import { ServiceAllocator } from './service-allocator.ts';
import { hasNodePorts, needsClusterIp, needsExternalTraffic, needsHealthCheckPort } from './service-needs.ts';
import { validateService, validateServiceChange, validateServiceStatus } from './service-validation.ts';
import { serviceStatusWarnings, serviceWarnings } from './service-warnings.ts';

export function services(server: BuiltinServer): BuiltinKind<Service> {
  return {
    id: 'v1/services',
    strategy: { canonicalize: dropInternalTraffic },
    warnings: serviceWarnings,
    returnsDeletedObject: true,
    validateName: nameIsDnsLabel,
    setDefaults: ({ spec, status }) => {
      if (spec !== undefined) setSpecDefaults(spec);
      if (spec?.type !== 'LoadBalancer') return;
      for (const ingress of status?.loadBalancer?.ingress ?? []) if (ingress.ip) ingress.ipMode ??= 'VIP';
    },
    prepareForUpdate: (next, old) => {
      if (next.spec !== undefined && old.spec !== undefined) dropTypeDependentFields(next.spec, old.spec);
      if (next.spec?.type !== 'LoadBalancer') next.status = { ...next.status, loadBalancer: {} };
    },
    validate: (root, object, old) => {
      if (old !== undefined) validateServiceChange(root, object, old);
      validateService(root, object, old);
    },
    fields: ({ spec }) => ({ 'spec.type': spec?.type ?? '', 'spec.clusterIP': spec?.clusterIP ?? '' }),
    status: { validate: validateServiceStatus, warnings: serviceStatusWarnings },
    subresources: [serviceProxySubresource(server)],
    allocation: new ServiceAllocator(server),
  };
}

type ReadonlySpec = DeepReadonly<ServiceSpec>;

const affinitySeconds = 10_800;

function setSpecDefaults(spec: ServiceSpec): void {
  spec.sessionAffinity ||= 'None';
  if (spec.sessionAffinity === 'None') delete spec.sessionAffinityConfig;
  if (spec.sessionAffinity === 'ClientIP') {
    const timeoutSeconds = spec.sessionAffinityConfig?.clientIP?.timeoutSeconds ?? affinitySeconds;
    spec.sessionAffinityConfig = { clientIP: { timeoutSeconds } };
  }
  spec.type ||= 'ClusterIP';
  for (const port of spec.ports ?? []) {
    port.protocol ||= 'TCP';
    port.targetPort ||= port.port;
  }
  if (needsExternalTraffic(spec)) spec.externalTrafficPolicy ||= 'Cluster';
  if (spec.type === 'ClusterIP' || hasNodePorts(spec)) spec.internalTrafficPolicy ??= 'Cluster';
  if (spec.type === 'LoadBalancer') spec.allocateLoadBalancerNodePorts ??= true;
}

/**
 * When the type changes, fields that only the old type used are dropped, unless the client changed them too. Source:
 * dropTypeDependentFields.
 */
function dropTypeDependentFields(next: ServiceSpec, old: ReadonlySpec): void {
  const loses = (needs: (spec: ReadonlySpec) => boolean): boolean => needs(old) && !needs(next);
  if (loses(needsClusterIp)) {
    const isSame = next.clusterIP === old.clusterIP && jsonEqual(next.clusterIPs, old.clusterIPs);
    dropUnchanged(next, old, [...(isSame ? addressFields : []), 'ipFamilies', 'ipFamilyPolicy']);
  }
  const oldPorts = new Set(nodePortsOf(old));
  if (loses(hasNodePorts) && nodePortsOf(next).every((port) => oldPorts.has(port))) {
    for (const port of next.ports ?? []) delete port.nodePort;
  }
  if (loses(needsHealthCheckPort)) dropUnchanged(next, old, ['healthCheckNodePort']);
  if (loses(needsExternalTraffic)) dropUnchanged(next, old, ['externalTrafficPolicy']);
  if (loses(({ type }) => type === 'LoadBalancer'))
    dropUnchanged(next, old, ['allocateLoadBalancerNodePorts', 'loadBalancerClass']);
}

/** The policy has no meaning for a name outside the cluster. Source: defaultOnReadInternalTrafficPolicy. */
function dropInternalTraffic({ spec }: Service): void {
  if (spec?.type === 'ExternalName') delete spec.internalTrafficPolicy;
}

const addressFields = ['clusterIP', 'clusterIPs'] as const;

function dropUnchanged(next: ServiceSpec, old: ReadonlySpec, names: readonly (keyof ServiceSpec)[]): void {
  for (const name of names) if (jsonEqual(next[name], old[name])) delete next[name];
}

function nodePortsOf(spec: ReadonlySpec): readonly number[] {
  return (spec.ports ?? []).map((port) => port.nodePort ?? 0).filter((port) => port !== 0);
}
