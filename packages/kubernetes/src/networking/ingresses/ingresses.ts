// Ingresses. Source: pkg/registry/networking/ingress, pkg/apis/networking/validation ValidateIngress.
import { isIP } from 'node:net';
import type { DeepReadonly } from '@kapstan/api';
import { dnsLabelErrors, dnsSubdomainErrors } from '@kapstan/api/errors';
import { collectFieldErrors, type Field } from '@kapstan/apiserver/internal';
import type { HTTPIngressPath, Ingress, IngressBackend, IngressRule } from '@kapstan/kinds/networking.k8s.io/v1';
import type { BuiltinKind } from '../../builtin/builtin-kind.ts';
import { ipErrors, portNameErrors, portNumberErrors, wildcardSubdomainErrors } from '../../validation/value-rules.ts';
import { validateTypedReference } from '../typed-reference.ts';

export const ingresses: BuiltinKind<Ingress> = {
  id: 'networking.k8s.io/v1/ingresses',
  strategy: { updateMetadata: 'both' },
  warnings: ({ metadata, spec }, old) => {
    const isOld = metadata?.annotations?.[classAnnotation] !== undefined && spec?.ingressClassName === undefined;
    if (old !== undefined || !isOld) return [];
    return [`annotation "${classAnnotation}" is deprecated, please use 'spec.ingressClassName' instead`];
  },
  validateCreate: (root, { metadata, spec }) => {
    const value = metadata?.annotations?.[classAnnotation];
    if (value !== undefined && spec?.ingressClassName !== undefined && value !== spec.ingressClassName) {
      root
        .child('annotations', classAnnotation)
        .invalid(value, 'must match `ingressClassName` when both are specified');
    }
  },
  status: {
    validate: (root, { status }) => {
      root.child('status', 'loadBalancer', 'ingress').each(status?.loadBalancer?.ingress, ({ ip, hostname }, place) => {
        if (ip) place.child('ip').invalidAll(ip, ipErrors(ip));
        if (!hostname) return;
        place.child('hostname').invalidAll(hostname, dnsSubdomainErrors(hostname));
        if (isIP(hostname) !== 0) place.child('hostname').invalid(hostname, 'must be a DNS name, not an IP address');
      });
    },
  },
  validate: (root, { spec }, old) => {
    const at = root.child('spec');
    if ((spec?.rules?.length ?? 0) === 0 && spec?.defaultBackend === undefined) {
      at.invalid(spec?.rules ?? null, 'either `defaultBackend` or `rules` must be specified');
    }
    if (spec?.defaultBackend !== undefined) validateBackend(at.child('defaultBackend'), spec.defaultBackend);
    const isRatcheted = old?.spec?.rules?.some(isInvalidWildcardRule) === true;
    at.child('rules').each(spec?.rules, (rule, place) => {
      validateHost(place.child('host'), rule.host ?? '');
      if (!(isRatcheted && rule.host?.includes('*'))) validateIngressRule(place, rule);
    });
    const takesAnySecret = old?.spec?.tls?.some(({ secretName }) => secretNameErrors(secretName).length > 0) === true;
    at.child('tls').each(spec?.tls, ({ hosts, secretName }, place) => {
      place.child('hosts').each(hosts, (host, hostPlace) => {
        hostPlace.invalidAll(host, host.includes('*') ? wildcardSubdomainErrors(host) : dnsSubdomainErrors(host));
      });
      if (!takesAnySecret) place.child('secretName').invalidAll(secretName, secretNameErrors(secretName));
    });
    if (spec?.ingressClassName !== undefined) {
      at.child('ingressClassName').invalidAll(spec.ingressClassName, dnsSubdomainErrors(spec.ingressClassName));
    }
  },
};

const classAnnotation = 'kubernetes.io/ingress.class';

const secretNameErrors = (name = ''): readonly string[] => (name === '' ? [] : dnsSubdomainErrors(name));

/** Objects stored before the rules became stricter may stay as they are. Source: allowInvalidWildcardHostRule. */
function isInvalidWildcardRule(rule: DeepReadonly<IngressRule>): boolean {
  return rule.host?.includes('*') === true && collectFieldErrors((at) => validateIngressRule(at, rule)).length > 0;
}

function validateHost(at: Field, host: string): void {
  if (host === '') return;
  if (isIP(host) !== 0) at.invalid(host, 'must be a DNS name, not an IP address');
  at.invalidAll(host, host.includes('*') ? wildcardSubdomainErrors(host) : dnsSubdomainErrors(host));
}

function validateIngressRule(at: Field, rule: DeepReadonly<IngressRule>): void {
  if (rule.http === undefined) return;
  const paths = at.child('http', 'paths');
  if ((rule.http.paths?.length ?? 0) === 0) paths.required();
  paths.each(rule.http.paths, (path, place) => validatePath(place, path));
}

const pathTypes = ['Exact', 'ImplementationSpecific', 'Prefix'];
const forbiddenSequences = ['//', '/./', '/../', '%2f', '%2F'];
const forbiddenSuffixes = ['/..', '/.'];

function validatePath(at: Field, rule: DeepReadonly<HTTPIngressPath>): void {
  const { path = '', pathType } = rule;
  if (pathType == null) return at.child('pathType').required('pathType must be specified');
  if (!pathTypes.includes(pathType)) at.child('pathType').notSupported(pathType, pathTypes);
  else if (pathType !== 'ImplementationSpecific') validateExactPath(at.child('path'), path);
  else if (path !== '' && !path.startsWith('/')) at.child('path').invalid(path, 'must be an absolute path');
  validateBackend(at.child('backend'), rule.backend);
}

function validateExactPath(at: Field, path: string): void {
  if (!path.startsWith('/')) at.invalid(path, 'must be an absolute path');
  for (const sequence of forbiddenSequences.filter((text) => path.includes(text)))
    at.invalid(path, `must not contain '${sequence}'`);
  for (const suffix of forbiddenSuffixes.filter((text) => path.endsWith(text)))
    at.invalid(path, `cannot end with '${suffix}'`);
}

function validateBackend(at: Field, { resource, service }: DeepReadonly<IngressBackend>): void {
  if (resource !== undefined && service !== undefined)
    return at.invalid('', 'cannot set both resource and service backends');
  if (resource !== undefined) {
    return validateTypedReference(at.child('resource'), resource);
  }
  if (service === undefined) return at.invalid('', 'resource or service backend is required');
  if (service.name === '') at.child('service', 'name').required();
  else at.child('service', 'name').invalidAll(service.name, dnsLabelErrors(service.name));
  const { name = '', number = 0 } = service.port ?? {};
  if (name !== '' && number !== 0) return at.invalid('', 'cannot set both port name & port number');
  if (name === '' && number === 0) return at.required('port name or number is required');
  if (name !== '') at.child('service', 'port', 'name').invalidAll(name, portNameErrors(name));
  else at.child('service', 'port', 'number').invalidAll(number, portNumberErrors(number));
}
