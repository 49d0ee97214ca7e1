// Rules for services. Source: pkg/apis/core/validation ValidateService, ValidateServiceUpdate.
import type { DeepReadonly } from '@kapstan/api';
import { dnsLabelErrors, dnsSubdomainErrors, qualifiedNameErrors } from '@kapstan/api/errors';
import type { Field } from '@kapstan/apiserver/internal';
import type { Service, ServicePort, ServiceSpec } from '@kapstan/kinds/core/v1';
import { validateLabels } from '../../validation/label-rules.ts';
import {
  ipErrors,
  portErrors,
  portNumberErrors,
  specialIpErrors,
  strictCidrErrors,
} from '../../validation/value-rules.ts';
import { validateAddressChange, validateClusterIps, validateFamilyChange } from './service-families.ts';
import { isHeadless, needsExternalTraffic, needsHealthCheckPort } from './service-needs.ts';

type ReadonlySpec = DeepReadonly<ServiceSpec>;
const types = ['ClusterIP', 'ExternalName', 'LoadBalancer', 'NodePort'] as const;

export function validateService(
  root: Field,
  service: DeepReadonly<Service>,
  old: DeepReadonly<Service> | undefined,
): void {
  const spec: ReadonlySpec = service.spec ?? {};
  const at = root.child('spec');
  validateTopologyMode(root.child('metadata', 'annotations'), service.metadata?.annotations ?? {});
  validateType(at, spec);
  validatePorts(at.child('ports'), spec);
  validateLabels(at.child('selector'), spec.selector);
  validateAffinity(at, spec);
  validateClusterIps(at, spec, old?.spec);
  const knownIps = new Set(old?.spec?.externalIPs);
  at.child('externalIPs').each(spec.externalIPs, (ip, place) => {
    const errors = knownIps.has(ip) ? [] : ipErrors(ip);
    place.invalidAll(ip, errors.length > 0 ? errors : specialIpErrors(ip));
  });
  validateSourceRanges(root, service, old);
  validateLoadBalancer(root, spec);
  validateTraffic(at, spec);
}

const topologyMode = 'service.kubernetes.io/topology-mode';
const topologyHints = 'service.kubernetes.io/topology-aware-hints';

function validateTopologyMode(at: Field, annotations: Readonly<Record<string, string>>): void {
  const [mode, hints] = [annotations[topologyMode], annotations[topologyHints]];
  if (mode !== undefined && hints !== undefined && mode !== hints)
    at.key(topologyMode).invalid(mode, `must match annotations[${topologyHints}] when both are specified`);
}

function validateType(at: Field, spec: ReadonlySpec): void {
  if (!spec.type) at.child('type').required();
  else at.child('type').oneOf(spec.type, types);
  if (spec.type === 'ExternalName') return validateExternalName(at, spec);
  if (isHeadless(spec) && (spec.type === 'LoadBalancer' || spec.type === 'NodePort'))
    at.child('clusterIPs').index(0).invalid('None', `may not be set to 'None' for ${spec.type} services`);
}

function validateAffinity(at: Field, spec: ReadonlySpec): void {
  if (!spec.sessionAffinity) at.child('sessionAffinity').required();
  else at.child('sessionAffinity').oneOf(spec.sessionAffinity, ['ClientIP', 'None']);
  if (spec.sessionAffinity === 'ClientIP') validateAffinitySeconds(at, spec);
}

const sourceRanges = 'service.beta.kubernetes.io/load-balancer-source-ranges';

/** Checks the field, or else the older annotation. A value that already existed is not checked. */
function validateSourceRanges(
  root: Field,
  { metadata, spec }: DeepReadonly<Service>,
  old: DeepReadonly<Service> | undefined,
): void {
  const text = metadata?.annotations?.[sourceRanges];
  const hasField = (spec?.loadBalancerSourceRanges?.length ?? 0) > 0;
  if (!hasField && text === undefined) return;
  const at = hasField
    ? root.child('spec', 'LoadBalancerSourceRanges')
    : root.child('metadata', 'annotations').key(sourceRanges);
  if (spec?.type !== 'LoadBalancer') at.forbidden("may only be used when `type` is 'LoadBalancer'");
  if (hasField) {
    const before = new Set(old?.spec?.loadBalancerSourceRanges?.map((range) => range.trim()));
    at.each(spec?.loadBalancerSourceRanges, (range, place) => {
      if (!before.has(range.trim())) place.invalidAll(range.trim(), strictCidrErrors(range.trim()));
    });
  } else if (text !== old?.metadata?.annotations?.[sourceRanges] && text?.trim()) {
    for (const range of text.split(',')) at.invalidAll(range.trim(), strictCidrErrors(range.trim()));
  }
}

function validateLoadBalancer(root: Field, spec: ReadonlySpec): void {
  const isBalancer = spec.type === 'LoadBalancer';
  const allocates = spec.allocateLoadBalancerNodePorts;
  if (isBalancer && allocates === undefined) root.child('allocateLoadBalancerNodePorts').required();
  if (!isBalancer && allocates !== undefined)
    root.child('spec', 'allocateLoadBalancerNodePorts').forbidden("may only be used when `type` is 'LoadBalancer'");
  validateLoadBalancerClass(root.child('spec'), spec);
}

/** Checks the class; an update reports its errors twice. `at` is the spec. */
function validateLoadBalancerClass(at: Field, { type, loadBalancerClass: name }: ReadonlySpec): void {
  if (name === undefined) return;
  if (type === 'LoadBalancer') at.child('loadBalancerClass').invalidAll(name, qualifiedNameErrors(name));
  else at.child('loadBalancerClass').forbidden("may only be used when `type` is 'LoadBalancer'");
}

function validateAffinitySeconds(at: Field, spec: ReadonlySpec): void {
  const seconds = spec.sessionAffinityConfig?.clientIP?.timeoutSeconds ?? 0;
  if (seconds <= 0 || seconds > 86_400) {
    at.child('sessionAffinityConfig', 'clientIP', 'timeoutSeconds').invalid(
      seconds,
      'must be greater than 0 and less than 86400',
    );
  }
}

function validatePorts(at: Field, spec: ReadonlySpec): void {
  const ports = spec.ports ?? [];
  const mayBeEmpty = isHeadless(spec) || spec.type === 'ExternalName';
  if (ports.length === 0 && !mayBeEmpty) at.required();
  const names = new Set<string>();
  const pairs = new Set<string>();
  const nodePorts = new Set<string>();
  at.each(ports, (port, place) => {
    validatePortName(place.child('name'), port.name ?? '', { isNeeded: ports.length > 1, names });
    validatePort(place, port);
    if (spec.type === 'ClusterIP' && port.nodePort)
      place.child('nodePort').forbidden("may not be used when `type` is 'ClusterIP'");
    const nodePort = `${port.protocol}/${port.nodePort}`;
    if (port.nodePort && nodePorts.has(nodePort)) place.child('nodePort').duplicate(port.nodePort);
    nodePorts.add(nodePort);
    const pair = `${port.protocol}/${port.port}`;
    if (pairs.has(pair)) {
      place.duplicate({
        Name: '',
        Protocol: port.protocol ?? '',
        AppProtocol: null,
        Port: port.port,
        TargetPort: 0,
        NodePort: 0,
      });
    }
    pairs.add(pair);
  });
}

function validatePortName(
  at: Field,
  name: string,
  { isNeeded, names }: { readonly isNeeded: boolean; readonly names: Set<string> },
): void {
  if (name === '') {
    if (isNeeded) at.required();
    return;
  }
  at.invalidAll(name, dnsLabelErrors(name));
  if (names.has(name)) at.duplicate(name);
  names.add(name);
}

function validatePort(at: Field, port: DeepReadonly<ServicePort>): void {
  at.child('port').invalidAll(port.port, portNumberErrors(port.port));
  if (!port.protocol) at.child('protocol').required();
  else at.child('protocol').oneOf(port.protocol, ['SCTP', 'TCP', 'UDP']);
  const target = port.targetPort ?? 0;
  at.child('targetPort').invalidAll(target, portErrors(target));
  if (port.appProtocol !== undefined)
    at.child('appProtocol').invalidAll(port.appProtocol, qualifiedNameErrors(port.appProtocol));
}

function validateExternalName(at: Field, spec: ReadonlySpec): void {
  for (const name of ['clusterIPs', 'ipFamilies'] as const)
    if ((spec[name]?.length ?? 0) > 0) at.child(name).forbidden('may not be set for ExternalName services');
  if (spec.ipFamilyPolicy !== undefined)
    at.child('ipFamilyPolicy').forbidden('may not be set for ExternalName services');
  // Absolute names may end in a dot.
  const name = (spec.externalName ?? '').replace(/\.$/, '');
  if (name === '') at.child('externalName').required();
  else at.child('externalName').invalidAll(name, dnsSubdomainErrors(name));
}

const distributions = ['PreferClose', 'PreferSameZone', 'PreferSameNode'];
const policies = ['Cluster', 'Local'];

function validateTraffic(at: Field, spec: ReadonlySpec): void {
  const policy = spec.externalTrafficPolicy ?? '';
  if (!needsExternalTraffic(spec)) {
    if (policy !== '')
      at.child('externalTrafficPolicy').invalid(policy, 'may only be set for externally-accessible services');
  } else if (at.child('externalTrafficPolicy').present(policy))
    at.child('externalTrafficPolicy').oneOf(policy, policies);
  validateCheckPort(at.child('healthCheckNodePort'), spec);
  const internal = spec.internalTrafficPolicy;
  if (internal !== undefined) at.child('internalTrafficPolicy').oneOf(internal, policies);
  else if (spec.type === 'ClusterIP' || spec.type === 'NodePort' || spec.type === 'LoadBalancer')
    at.child('internalTrafficPolicy').required();
  if (spec.trafficDistribution !== undefined)
    at.child('trafficDistribution').oneOf(spec.trafficDistribution, distributions);
}

function validateCheckPort(at: Field, spec: ReadonlySpec): void {
  const port = spec.healthCheckNodePort ?? 0;
  if (needsHealthCheckPort(spec)) {
    if (port === 0) at.required();
    else at.invalidAll(port, portNumberErrors(port));
  } else if (port !== 0) {
    at.invalid(port, "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'");
  }
}

/** Checks fields that must not change once set. Source: ValidateServiceUpdate. */
export function validateServiceChange(
  root: Field,
  service: DeepReadonly<Service>,
  before: DeepReadonly<Service>,
): void {
  const at = root.child('spec');
  const next: ReadonlySpec = service.spec ?? {};
  const old: ReadonlySpec = before.spec ?? {};
  validateAddressChange(at, next, old);
  validateFamilyChange(at, next, old);
  const isBalancer = next.type === 'LoadBalancer' && old.type === 'LoadBalancer';
  if (isBalancer && next.loadBalancerClass !== old.loadBalancerClass)
    at.child('loadBalancerClass').invalid(next.loadBalancerClass ?? null, 'may not change once set');
  validateLoadBalancerClass(at, next);
  const isChecked = needsHealthCheckPort(next) && needsHealthCheckPort(old);
  if (isChecked && next.healthCheckNodePort !== old.healthCheckNodePort)
    at.child('healthCheckNodePort').forbidden('field is immutable');
}

/** Source: ValidateLoadBalancerStatus. */
export function validateServiceStatus(
  root: Field,
  { spec, status }: DeepReadonly<Service>,
  old: DeepReadonly<Service>,
): void {
  const ingress = status?.loadBalancer?.ingress ?? [];
  const at = root.child('status', 'loadBalancer', 'ingress');
  if (ingress.length > 0 && spec?.type !== 'LoadBalancer')
    return at.forbidden("may only be used when `spec.type` is 'LoadBalancer'");
  const known = new Set((old.status?.loadBalancer?.ingress ?? []).map(({ ip }) => ip));
  at.each(ingress, ({ ip, ipMode, hostname }, place) => {
    if (ip && !known.has(ip)) place.child('ip').invalidAll(ip, ipErrors(ip));
    validateIpMode(place.child('ipMode'), ip ?? '', ipMode);
    if (!hostname) return;
    place.child('hostname').invalidAll(hostname, dnsSubdomainErrors(hostname));
    if (ipErrors(hostname).length === 0)
      place.child('hostname').invalid(hostname, 'must be a DNS name, not an IP address');
  });
}

function validateIpMode(at: Field, ip: string, mode: string | undefined): void {
  if (mode === undefined) {
    if (ip !== '') at.required('must be specified when `ip` is set');
  } else if (ip === '') at.forbidden('may not be specified when `ip` is not set');
  else at.oneOf(mode, ['Proxy', 'VIP']);
}
