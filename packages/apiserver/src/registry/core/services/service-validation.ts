// Rules for services. Source: pkg/apis/core/validation ValidateService, ValidateServiceUpdate.
import { type DeepReadonly, dnsLabelErrors, dnsSubdomainErrors, qualifiedNameErrors } from '@kapstan/api';
import type { Service, ServicePort, ServiceSpec } from '@kapstan/kinds/core/v1';
import type { Field } from '../../validation/field.ts';
import { validateLabels } from '../../validation/label-rules.ts';
import { ipErrors, portErrors, portNumberErrors, specialIpErrors } from '../../validation/value-rules.ts';
import { needsClusterIp } from './service-needs.ts';

type ReadonlySpec = DeepReadonly<ServiceSpec>;
const types = ['ClusterIP', 'ExternalName', 'LoadBalancer', 'NodePort'] as const;

export function validateService(root: Field, { spec = {} }: DeepReadonly<Service>): void {
  const at = root.child('spec');
  validatePorts(at.child('ports'), spec);
  validateLabels(at.child('selector'), spec.selector);
  if (!spec.sessionAffinity) at.child('sessionAffinity').required();
  else at.child('sessionAffinity').oneOf(spec.sessionAffinity, ['ClientIP', 'None']);
  if (spec.sessionAffinity === 'ClientIP') validateAffinitySeconds(at, spec);
  at.child('externalIPs').each(spec.externalIPs, (ip, place) => {
    const errors = ipErrors(ip);
    place.invalidAll(ip, errors.length > 0 ? errors : specialIpErrors(ip));
  });
  if (!spec.type) at.child('type').required();
  else at.child('type').oneOf(spec.type, types);
  if (spec.type === 'ExternalName') validateExternalName(at, spec);
  else validateClusterIps(at, spec);
  validateTraffic(at, spec);
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
  const mayBeEmpty = spec.clusterIP === 'None' || spec.type === 'ExternalName';
  if (ports.length === 0 && !mayBeEmpty) at.required();
  const names = new Set<string>();
  const pairs = new Set<string>();
  at.each(ports, (port, place) => {
    validatePortName(place.child('name'), port.name ?? '', { isNeeded: ports.length > 1, names });
    validatePort(place, port);
    if (spec.type === 'ClusterIP' && port.nodePort)
      place.child('nodePort').forbidden("may not be used when `type` is 'ClusterIP'");
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
  if ((spec.clusterIPs?.length ?? 0) > 0 || spec.clusterIP)
    at.child('clusterIPs').forbidden('may not be set for ExternalName services');
  // Absolute names may end in a dot.
  const name = (spec.externalName ?? '').replace(/\.$/, '');
  if (name === '') at.child('externalName').required();
  else at.child('externalName').invalidAll(name, dnsSubdomainErrors(name));
}

function validateClusterIps(at: Field, spec: ReadonlySpec): void {
  const [first, ...more] = spec.clusterIPs ?? [];
  if (first === undefined) return;
  if (spec.clusterIP !== undefined && spec.clusterIP !== first)
    at.child('clusterIPs').invalid(spec.clusterIPs, 'first value must match `clusterIP`');
  if (first === 'None') {
    if (more.length > 0) at.child('clusterIPs').invalid(spec.clusterIPs, "'None' must be the first and only value");
    return;
  }
  at.child('clusterIPs').each(spec.clusterIPs, (ip, place) => place.invalidAll(ip, ipErrors(ip)));
}

function validateTraffic(at: Field, spec: ReadonlySpec): void {
  const isExternal = spec.type === 'NodePort' || spec.type === 'LoadBalancer' || (spec.externalIPs?.length ?? 0) > 0;
  const policy = spec.externalTrafficPolicy ?? '';
  if (policy !== '') {
    if (!isExternal)
      at.child('externalTrafficPolicy').invalid(policy, 'may only be set for externally-accessible services');
    else at.child('externalTrafficPolicy').oneOf(policy, ['Cluster', 'Local']);
  }
  if (spec.internalTrafficPolicy !== undefined)
    at.child('internalTrafficPolicy').oneOf(spec.internalTrafficPolicy, ['Cluster', 'Local']);
  if (spec.type !== 'LoadBalancer') {
    if (spec.allocateLoadBalancerNodePorts !== undefined) {
      at.child('allocateLoadBalancerNodePorts').forbidden("may only be used when `type` is 'LoadBalancer'");
    }
    if (spec.loadBalancerClass !== undefined)
      at.child('loadBalancerClass').forbidden("may only be used when `type` is 'LoadBalancer'");
  }
}

/** The primary address stays for as long as the service has one. Source: upgradeDowngradeClusterIPsErrs. */
export function validateServiceChange(root: Field, next: DeepReadonly<Service>, old: DeepReadonly<Service>): void {
  if (next.spec === undefined || old.spec === undefined || !needsClusterIp(old.spec) || !needsClusterIp(next.spec))
    return;
  const before = old.spec.clusterIPs?.[0] ?? '';
  const after = next.spec.clusterIPs?.[0] ?? '';
  if (before !== '' && after !== before) {
    root
      .child('spec', 'clusterIPs')
      .index(0)
      .invalid(next.spec.clusterIPs ?? [], 'may not change once set');
  }
}

/** Source: ValidateLoadBalancerStatus. */
export function validateServiceStatus(root: Field, { spec, status }: DeepReadonly<Service>): void {
  const ingress = status?.loadBalancer?.ingress ?? [];
  const at = root.child('status', 'loadBalancer', 'ingress');
  if (ingress.length > 0 && spec?.type !== 'LoadBalancer')
    return at.forbidden("may only be used when `spec.type` is 'LoadBalancer'");
  at.each(ingress, ({ ip, hostname }, place) => {
    if (ip) place.child('ip').invalidAll(ip, ipErrors(ip));
    if (!hostname) return;
    place.child('hostname').invalidAll(hostname, dnsSubdomainErrors(hostname));
    if (ipErrors(hostname).length === 0)
      place.child('hostname').invalid(hostname, 'must be a DNS name, not an IP address');
  });
}
