// Validating admission policies and their bindings. Expressions are compiled where they are used: admission/.
// Source: pkg/apis/admissionregistration/v1/defaults.go, validation validateValidatingAdmissionPolicySpec.
import type { DeepReadonly } from '@kapstan/api';
import type {
  MatchResources,
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicyBinding,
  ValidatingAdmissionPolicySpec,
} from '@kapstan/kinds/admissionregistration.k8s.io/v1';
import type { BuiltinKind } from '../../builtin-kind.ts';
import type { Field } from '../../validation/field.ts';
import { validateLabelSelector } from '../../validation/label-rules.ts';
import { setRuleDefaults, validateRule } from '../rule-defaults.ts';

export const validatingAdmissionPolicies: BuiltinKind<ValidatingAdmissionPolicy> = {
  id: 'admissionregistration.k8s.io/v1/validatingadmissionpolicies',
  strategy: { updateMetadata: 'whole', finalizerNames: 'Qualified' },
  setDefaults: ({ spec }) => {
    if (spec === undefined) return;
    spec.failurePolicy ??= 'Fail';
    setMatchDefaults(spec.matchConstraints);
  },
  validate: (root, { spec }) => validateSpec(root.child('spec'), spec ?? {}),
};

export const validatingAdmissionPolicyBindings: BuiltinKind<ValidatingAdmissionPolicyBinding> = {
  id: 'admissionregistration.k8s.io/v1/validatingadmissionpolicybindings',
  strategy: { updateMetadata: 'whole', finalizerNames: 'Qualified' },
  setDefaults: ({ spec }) => setMatchDefaults(spec?.matchResources),
  validate: (root, { spec }) => {
    const at = root.child('spec');
    if (!spec?.policyName) at.child('policyName').required();
    const actions = spec?.validationActions ?? [];
    const place = at.child('validationActions');
    if (actions.length === 0) place.required('at least one validation action is required');
    place.each(actions, (action, actionPlace) => {
      actionPlace.oneOf(action, ['Audit', 'Deny', 'Warn']);
      if (
        actions.indexOf(action) < actions.lastIndexOf(action) &&
        actionPlace.path.endsWith(`[${actions.lastIndexOf(action)}]`)
      ) {
        actionPlace.duplicate(action);
      }
    });
    if (actions.includes('Deny') && actions.includes('Warn')) {
      place.invalid(
        actions,
        'must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)',
      );
    }
    if (spec?.matchResources !== undefined) validateMatch(at.child('matchResources'), spec.matchResources);
  },
};

function setMatchDefaults(match: MatchResources | undefined): void {
  if (match === undefined) return;
  match.namespaceSelector ??= {};
  match.objectSelector ??= {};
  match.matchPolicy ??= 'Equivalent';
  setRuleDefaults(match.resourceRules);
  setRuleDefaults(match.excludeResourceRules);
}

function validateSpec(at: Field, spec: DeepReadonly<ValidatingAdmissionPolicySpec>): void {
  if (spec.failurePolicy !== undefined) at.child('failurePolicy').oneOf(spec.failurePolicy, ['Fail', 'Ignore']);
  if (spec.matchConstraints === undefined) at.child('matchConstraints').required();
  else {
    const place = at.child('matchConstraints');
    validateMatch(place, spec.matchConstraints);
    if ((spec.matchConstraints.resourceRules?.length ?? 0) === 0) place.child('resourceRules').required();
  }
  if ((spec.validations?.length ?? 0) + (spec.auditAnnotations?.length ?? 0) === 0) {
    const text = 'validations or auditAnnotations must contain at least one item';
    at.child('validations').required(text);
    at.child('auditAnnotations').required(text);
  }
  at.child('validations').each(spec.validations, (validation, place) => {
    if (validation.expression.trim() === '') place.child('expression').required('expression is not specified');
    if (validation.reason !== undefined) {
      place.child('reason').oneOf(validation.reason, ['Forbidden', 'Invalid', 'RequestEntityTooLarge']);
    }
  });
}

function validateMatch(at: Field, match: DeepReadonly<MatchResources>): void {
  validateLabelSelector(at.child('namespaceSelector'), match.namespaceSelector);
  validateLabelSelector(at.child('objectSelector'), match.objectSelector);
  for (const name of ['resourceRules', 'excludeResourceRules'] as const)
    at.child(name).each(match[name], (rule, place) => validateRule(place, rule));
  if (match.matchPolicy !== undefined) at.child('matchPolicy').oneOf(match.matchPolicy, ['Equivalent', 'Exact']);
}
