// Validating admission policies and their bindings. Expressions are compiled where they are used: admission/.
// Source: pkg/apis/admissionregistration/v1/defaults.go, validation validateValidatingAdmissionPolicySpec.
import type { DeepReadonly } from '@kapstan/api';
import { dnsSubdomainErrors } from '@kapstan/api/errors';
import type { Field } from '@kapstan/apiserver/internal';
import { pathSegmentErrors } from '@kapstan/apiserver/internal';
import type {
  MatchResources,
  ParamRef,
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicyBinding,
  ValidatingAdmissionPolicySpec,
} from '@kapstan/kinds/admissionregistration.k8s.io/v1';
import type { BuiltinKind } from '../../builtin/builtin-kind.ts';
import { validateConditions } from '../../validation/condition-validation.ts';
import { validateLabelSelector } from '../../validation/label-rules.ts';
import { repetitions } from '../../validation/repetition.ts';
import { setRuleDefaults, validateMatchConditions, validateRule } from '../rule-defaults.ts';
import { staticSuffixWarnings } from '../static-suffix.ts';
import { validateExpressions, validateParamKind } from './policy-parts.ts';

export const validatingAdmissionPolicies: BuiltinKind<ValidatingAdmissionPolicy> = {
  id: 'admissionregistration.k8s.io/v1/validatingadmissionpolicies',
  strategy: { updateMetadata: 'whole', finalizerNames: 'Qualified' },
  warnings: staticSuffixWarnings,
  setDefaults: ({ spec }) => {
    if (spec === undefined) return;
    spec.failurePolicy ??= 'Fail';
    setMatchDefaults(spec.matchConstraints);
  },
  validate: (root, { metadata, spec }) => validateSpec(root.child('spec'), spec ?? {}, metadata?.name ?? ''),
  status: { updateMetadata: 'none', keepsMetadata: true, validate: validatePolicyStatus },
};

export const validatingAdmissionPolicyBindings: BuiltinKind<ValidatingAdmissionPolicyBinding> = {
  id: 'admissionregistration.k8s.io/v1/validatingadmissionpolicybindings',
  strategy: { updateMetadata: 'whole', finalizerNames: 'Qualified' },
  warnings: staticSuffixWarnings,
  setDefaults: ({ spec }) => setMatchDefaults(spec?.matchResources),
  validate: (root, { spec }) => {
    const at = root.child('spec');
    const { policyName = '', paramRef, matchResources } = spec ?? {};
    if (at.child('policyName').present(policyName))
      at.child('policyName').invalidAll(policyName, dnsSubdomainErrors(policyName));
    if (paramRef !== undefined) validateParamRef(at.child('paramRef'), paramRef);
    if (matchResources !== undefined) validateMatch(at.child('matchResources'), matchResources);
    validateActions(at.child('validationActions'), spec?.validationActions ?? []);
  },
};

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

function validateParamRef(
  at: Field,
  { name = '', selector, parameterNotFoundAction: action }: DeepReadonly<ParamRef>,
): void {
  const exclusive = 'name and selector are mutually exclusive';
  at.child('name').invalidAll(name, pathSegmentErrors(name));
  validateLabelSelector(at.child('selector'), selector);
  if (name !== '' && selector !== undefined)
    for (const member of ['name', 'selector']) at.child(member).forbidden(exclusive);
  if (name === '' && selector === undefined) at.required('one of name or selector must be specified');
  if (at.child('parameterNotFoundAction').present(action))
    at.child('parameterNotFoundAction').oneOf(action, ['Deny', 'Allow']);
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

function setMatchDefaults(match: MatchResources | undefined): void {
  if (match === undefined) return;
  match.namespaceSelector ??= {};
  match.objectSelector ??= {};
  match.matchPolicy ??= 'Equivalent';
  setRuleDefaults(match.resourceRules);
  setRuleDefaults(match.excludeResourceRules);
}

function validateSpec(at: Field, spec: DeepReadonly<ValidatingAdmissionPolicySpec>, name: string): void {
  if (spec.failurePolicy == null) at.child('failurePolicy').required();
  else at.child('failurePolicy').oneOf(spec.failurePolicy, ['Fail', 'Ignore']);
  if (spec.paramKind !== undefined) validateParamKind(at.child('paramKind'), spec.paramKind);
  if (spec.matchConstraints === undefined) at.child('matchConstraints').required();
  else {
    const place = at.child('matchConstraints');
    validateMatch(place, spec.matchConstraints);
    if ((spec.matchConstraints.resourceRules?.length ?? 0) === 0) place.child('resourceRules').required();
  }
  validateMatchConditions(at.child('matchConditions'), spec.matchConditions);
  validateExpressions(at, spec, name);
}

function validateMatch(at: Field, match: DeepReadonly<MatchResources>): void {
  if (match.matchPolicy !== undefined) at.child('matchPolicy').oneOf(match.matchPolicy, ['Equivalent', 'Exact']);
  validateLabelSelector(at.child('namespaceSelector'), match.namespaceSelector);
  validateLabelSelector(at.child('objectSelector'), match.objectSelector);
  for (const member of ['resourceRules', 'excludeResourceRules'] as const) {
    at.child(member).each(match[member], (rule, place) => {
      const isRepeated = repetitions<string>();
      place.child('resourceNames').each(rule.resourceNames, (name, namePlace) => {
        namePlace.invalidAll(name, pathSegmentErrors(name));
        if (isRepeated(name)) namePlace.duplicate(name);
      });
      validateRule(place, rule);
    });
  }
}
