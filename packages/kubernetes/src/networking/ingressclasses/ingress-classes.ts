// Ingress classes. Source: pkg/apis/networking/validation ValidateIngressClass.
import type { DeepReadonly } from '@kapstan/api';
import { dnsLabelErrors, dnsSubdomainErrors } from '@kapstan/api/errors';
import type { Field } from '@kapstan/apiserver/internal';
import type { IngressClass, IngressClassParametersReference } from '@kapstan/kinds/networking.k8s.io/v1';
import type { BuiltinKind } from '../../builtin/builtin-kind.ts';
import { validateTypedReference } from '../typed-reference.ts';

const maxControllerBytes = 250;

export const ingressClasses: BuiltinKind<IngressClass> = {
  id: 'networking.k8s.io/v1/ingressclasses',
  strategy: { updateMetadata: 'both' },
  setDefaults: ({ spec }) => {
    if (spec?.parameters !== undefined) spec.parameters.scope ??= 'Cluster';
  },
  validate: (root, { spec }) => {
    const controller = spec?.controller ?? '';
    const at = root.child('spec', 'controller');
    if (Buffer.byteLength(controller) > maxControllerBytes) at.tooLong(maxControllerBytes);
    validateDomainPrefixedPath(at, controller);
    if (spec?.parameters !== undefined) validateParameters(root.child('spec', 'parameters'), spec.parameters);
  },
  validateChange: (root, next, old) =>
    root
      .child('spec', 'controller')
      .immutable(next.spec?.controller ?? '', (next.spec?.controller ?? '') === (old.spec?.controller ?? '')),
};

const pathFormat = "[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+";
const pathPattern = new RegExp(`^${pathFormat}$`);

/** Source: IsDomainPrefixedPath. */
function validateDomainPrefixedPath(at: Field, text: string): void {
  if (text === '') return at.required();
  const slash = text.indexOf('/');
  const [host, path] = slash < 0 ? [text, ''] : [text.slice(0, slash), text.slice(slash + 1)];
  if (host === '' || path === '') return at.invalid(text, 'must be a domain-prefixed path (such as "acme.io/foo")');
  at.invalidAll(host, dnsSubdomainErrors(host));
  if (!pathPattern.test(path)) at.invalid(path, `Invalid path (regex used for validation is '${pathFormat}')`);
}

function validateParameters(at: Field, parameters: DeepReadonly<IngressClassParametersReference>): void {
  validateTypedReference(at, parameters);
  const { namespace, scope } = parameters;
  at.child('scope').oneOf(scope, ['Cluster', 'Namespace']);
  if (scope === 'Namespace' && namespace === undefined)
    at.child('namespace').required("`parameters.scope` is set to 'Namespace'");
  if (scope === 'Namespace' && namespace !== undefined)
    at.child('namespace').invalidAll(namespace, dnsLabelErrors(namespace));
  if (scope === 'Cluster' && namespace !== undefined)
    at.child('namespace').forbidden("`parameters.scope` is set to 'Cluster'");
}
