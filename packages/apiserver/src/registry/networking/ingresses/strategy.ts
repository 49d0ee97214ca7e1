// Ingresses. Source: pkg/registry/networking/ingress, pkg/apis/networking/validation ValidateIngress.
import { isIP } from 'node:net';
import { type DeepReadonly, dnsLabelErrors, dnsSubdomainErrors } from '@kapstan/api';
import type { HTTPIngressPath, Ingress, IngressBackend, IngressRule } from '@kapstan/kinds/networking.k8s.io/v1';
import type { BuiltinKind } from '../../builtin-kind.ts';
import type { Field } from '../../validation/field.ts';
import { portNameErrors, portNumberErrors, wildcardSubdomainErrors } from '../../validation/value-rules.ts';

export const ingresses: BuiltinKind<Ingress> = {
  id: 'networking.k8s.io/v1/ingresses',
  strategy: { updateMetadata: 'both' },
  validate: (root, { spec }) => {
    const at = root.child('spec');
    if ((spec?.rules?.length ?? 0) === 0 && spec?.defaultBackend === undefined) {
      at.invalid(spec?.rules ?? null, 'either `defaultBackend` or `rules` must be specified');
    }
    if (spec?.defaultBackend !== undefined) validateBackend(at.child('defaultBackend'), spec.defaultBackend);
    at.child('rules').each(spec?.rules, (rule, place) => validateRule(place, rule));
    at.child('tls').each(spec?.tls, (tls, place) => {
      place.child('hosts').each(tls.hosts, (host, hostPlace) => {
        hostPlace.invalidAll(host, host.includes('*') ? wildcardSubdomainErrors(host) : dnsSubdomainErrors(host));
      });
    });
    if (spec?.ingressClassName !== undefined) {
      at.child('ingressClassName').invalidAll(spec.ingressClassName, dnsSubdomainErrors(spec.ingressClassName));
    }
  },
};

function validateRule(at: Field, rule: DeepReadonly<IngressRule>): void {
  const host = rule.host ?? '';
  if (host !== '') {
    if (isIP(host) !== 0) at.child('host').invalid(host, 'must be a DNS name, not an IP address');
    at.child('host').invalidAll(
      host,
      host.includes('*') ? wildcardSubdomainErrors(host) : isIP(host) === 0 ? dnsSubdomainErrors(host) : [],
    );
  }
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
  if (!pathType) at.child('pathType').required('pathType must be specified');
  else if (!pathTypes.includes(pathType)) at.child('pathType').notSupported(pathType, pathTypes);
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
    at.child('resource', 'kind').present(resource.kind);
    at.child('resource', 'name').present(resource.name);
    return;
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
