// Ingress classes. Source: pkg/apis/networking/validation ValidateIngressClass.
import type { DeepReadonly } from '@kapstan/api';
import type { IngressClass, IngressClassParametersReference } from '@kapstan/kinds/networking.k8s.io/v1';
import type { BuiltinKind } from '../../builtin-kind.ts';
import type { Field } from '../../validation/field.ts';

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
    if (controller === '') at.required();
    else if (Buffer.byteLength(controller) > maxControllerBytes) at.tooLong(maxControllerBytes);
    else if (!/^[^/]+\/.+$/.test(controller))
      at.invalid(controller, 'must be a domain-prefixed path (such as "acme.io/foo")');
    if (spec?.parameters !== undefined) validateParameters(root.child('spec', 'parameters'), spec.parameters);
  },
  validateChange: (root, next, old) =>
    root.child('spec', 'controller').immutable(next.spec?.controller, next.spec?.controller === old.spec?.controller),
};

function validateParameters(at: Field, parameters: DeepReadonly<IngressClassParametersReference>): void {
  at.child('kind').present(parameters.kind);
  at.child('name').present(parameters.name);
  const scope = parameters.scope ?? '';
  if (scope === '') at.child('scope').required();
  else at.child('scope').oneOf(scope, ['Cluster', 'Namespace']);
  if (scope === 'Namespace' && !parameters.namespace)
    at.child('namespace').required("`parameters.scope` is set to 'Namespace'");
  if (scope === 'Cluster' && parameters.namespace)
    at.child('namespace').forbidden("`parameters.scope` is set to 'Cluster'");
}
