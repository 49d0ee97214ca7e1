// Mutating admission policies and their bindings. Source: pkg/apis/admissionregistration/v1/defaults.go, validation
// validateMutatingAdmissionPolicySpec.
import type {
  MutatingAdmissionPolicy,
  MutatingAdmissionPolicyBinding,
} from '@kapstan/kinds/admissionregistration.k8s.io/v1';
import type { BuiltinKind, BuiltinServer } from '../../builtin/builtin-kind.ts';
import { staticSuffixWarnings } from '../static-suffix.ts';
import {
  setMatchDefaults,
  setPolicyDefaults,
  validateConstraints,
  validateMutableOperations,
  validateParamKind,
  validatePolicyBinding,
} from './match-resources.ts';
import { permitBinding, permitPolicy } from './param-access.ts';
import { validateConditionsOf, validateFailurePolicy, validateMutations } from './policy-parts.ts';

export const mutatingAdmissionPolicies = (server: BuiltinServer): BuiltinKind<MutatingAdmissionPolicy> => ({
  id: 'admissionregistration.k8s.io/v1/mutatingadmissionpolicies',
  strategy: { updateMetadata: 'whole', finalizerNames: 'Qualified' },
  warnings: staticSuffixWarnings,
  setDefaults: setPolicyDefaults,
  validate: (root, { spec = {} }, old) => {
    const at = root.child('spec');
    const oldSpec = old && (old.spec ?? {});
    validateFailurePolicy(at.child('failurePolicy'), spec);
    if (spec.paramKind !== undefined) validateParamKind(at.child('paramKind'), spec.paramKind);
    validateConstraints(at.child('matchConstraints'), spec.matchConstraints);
    validateMutableOperations(at.child('matchConstraints'), spec.matchConstraints);
    validateConditionsOf(at.child('matchConditions'), spec, oldSpec);
    validateMutations(at, spec, oldSpec);
    const place = at.child('reinvocationPolicy');
    if (place.present(spec.reinvocationPolicy)) place.oneOf(spec.reinvocationPolicy, ['IfNeeded', 'Never']);
  },
  validatesInSlices: true,
  permit: permitPolicy(server),
});

export const mutatingAdmissionPolicyBindings = (
  server: BuiltinServer,
): BuiltinKind<MutatingAdmissionPolicyBinding> => ({
  id: 'admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings',
  strategy: { updateMetadata: 'whole', finalizerNames: 'Qualified' },
  warnings: staticSuffixWarnings,
  setDefaults: ({ spec }) => setMatchDefaults(spec?.matchResources),
  validate: (root, { spec }) => {
    const at = root.child('spec');
    validatePolicyBinding(at, spec ?? {});
    validateMutableOperations(at.child('matchResources'), spec?.matchResources);
  },
  permit: permitBinding(server, 'mutatingadmissionpolicies'),
});
