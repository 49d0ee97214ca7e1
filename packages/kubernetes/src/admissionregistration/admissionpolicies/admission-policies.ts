// Validating admission policies and their bindings.
// Source: pkg/apis/admissionregistration/v1/defaults.go, validation validateValidatingAdmissionPolicySpec.
import type { DeepReadonly } from '@kapstan/api';
import type { Field } from '@kapstan/apiserver/internal';
import type {
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicyBinding,
  ValidatingAdmissionPolicySpec,
} from '@kapstan/kinds/admissionregistration.k8s.io/v1';
import type { BuiltinKind, BuiltinServer } from '../../builtin/builtin-kind.ts';
import { validateConditions } from '../../validation/condition-validation.ts';
import { repetitions } from '../../validation/repetition.ts';
import { staticSuffixWarnings } from '../static-suffix.ts';
import {
  setMatchDefaults,
  setPolicyDefaults,
  validateConstraints,
  validateParamKind,
  validatePolicyBinding,
} from './match-resources.ts';
import { permitBinding, permitPolicy } from './param-access.ts';
import { validateConditionsOf, validateFailurePolicy, validateValidations } from './policy-parts.ts';

export const validatingAdmissionPolicies = (server: BuiltinServer): BuiltinKind<ValidatingAdmissionPolicy> => ({
  id: 'admissionregistration.k8s.io/v1/validatingadmissionpolicies',
  strategy: { updateMetadata: 'whole', finalizerNames: 'Qualified' },
  warnings: staticSuffixWarnings,
  setDefaults: setPolicyDefaults,
  validate: (root, { metadata, spec }, old) =>
    validateSpec(root.child('spec'), spec ?? {}, { name: metadata?.name ?? '', old: old && (old.spec ?? {}) }),
  validatesInSlices: true,
  permit: permitPolicy(server),
  status: { updateMetadata: 'none', keepsMetadata: true, validate: validatePolicyStatus },
});

export const validatingAdmissionPolicyBindings = (
  server: BuiltinServer,
): BuiltinKind<ValidatingAdmissionPolicyBinding> => ({
  id: 'admissionregistration.k8s.io/v1/validatingadmissionpolicybindings',
  strategy: { updateMetadata: 'whole', finalizerNames: 'Qualified' },
  warnings: staticSuffixWarnings,
  setDefaults: ({ spec }) => setMatchDefaults(spec?.matchResources),
  validate: (root, { spec }) => {
    const at = root.child('spec');
    validatePolicyBinding(at, spec ?? {});
    validateActions(at.child('validationActions'), spec?.validationActions ?? []);
  },
  permit: permitBinding(server, 'validatingadmissionpolicies'),
});

/** Source: validateValidatingAdmissionPolicyStatus. */
function validatePolicyStatus(root: Field, { status }: DeepReadonly<ValidatingAdmissionPolicy>): void {
  const at = root.child('status');
  at.child('typeChecking', 'expressionWarnings').each(
    status?.typeChecking?.expressionWarnings,
    ({ warning, fieldRef }, place) => {
      place.child('warning').present(warning);
      place.child('fieldRef').present(fieldRef);
    },
  );
  validateConditions(at.child('conditions'), status?.conditions);
}

function validateActions(at: Field, actions: readonly string[]): void {
  const isRepeated = repetitions<string>();
  at.each(actions, (action, place) => {
    place.oneOf(action, ['Audit', 'Deny', 'Warn']);
    if (isRepeated(action)) place.duplicate(action);
  });
  if (actions.includes('Deny') && actions.includes('Warn')) {
    at.invalid(
      actions,
      'must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)',
    );
  }
  if (actions.length === 0) at.required('at least one validation action is required');
}

function validateSpec(
  at: Field,
  spec: DeepReadonly<ValidatingAdmissionPolicySpec>,
  of: { readonly name: string; readonly old: DeepReadonly<ValidatingAdmissionPolicySpec> | undefined },
): void {
  validateFailurePolicy(at.child('failurePolicy'), spec);
  if (spec.paramKind !== undefined) validateParamKind(at.child('paramKind'), spec.paramKind);
  validateConstraints(at.child('matchConstraints'), spec.matchConstraints);
  validateConditionsOf(at.child('matchConditions'), spec, of.old);
  validateValidations(at, spec, of);
}
