// Defaults and rules for the parts of policies and bindings that select requests and parameters. Source:
// pkg/apis/admissionregistration/v1/defaults.go, validation validateMatchResources, validateParamKind, validateParamRef.
import type { DeepReadonly } from '@kapstan/api';
import { dnsSubdomainErrors } from '@kapstan/api/errors';
import type { Field } from '@kapstan/apiserver/internal';
import { dns1035LabelErrors, pathSegmentErrors } from '@kapstan/apiserver/internal';
import type { MatchResources, ParamKind, ParamRef } from '@kapstan/kinds/admissionregistration.k8s.io/v1';
import { validateLabelSelector } from '../../validation/label-rules.ts';
import { repetitions } from '../../validation/repetition.ts';
import { setRuleDefaults, validateOperationsRule } from '../rule-defaults.ts';

export function setMatchDefaults(match: MatchResources | undefined): void {
  if (match === undefined) return;
  match.namespaceSelector ??= {};
  match.objectSelector ??= {};
  match.matchPolicy ??= 'Equivalent';
  setRuleDefaults(match.resourceRules);
  setRuleDefaults(match.excludeResourceRules);
}

/** Sets the defaults that both kinds of policies have. */
export function setPolicyDefaults({
  spec,
}: {
  readonly spec?: { failurePolicy?: string; readonly matchConstraints?: MatchResources };
}): void {
  if (spec === undefined) return;
  spec.failurePolicy ??= 'Fail';
  setMatchDefaults(spec.matchConstraints);
}

interface BindingSpec {
  readonly policyName?: string;
  readonly paramRef?: ParamRef;
  readonly matchResources?: MatchResources;
}

/** Checks the parts that bindings of both kinds share. */
export function validatePolicyBinding(
  at: Field,
  { policyName = '', paramRef, matchResources }: DeepReadonly<BindingSpec>,
): void {
  if (at.child('policyName').present(policyName))
    at.child('policyName').invalidAll(policyName, dnsSubdomainErrors(policyName));
  if (paramRef !== undefined) validateParamRef(at.child('paramRef'), paramRef);
  if (matchResources !== undefined) validateMatch(at.child('matchResources'), matchResources);
}

/** Checks the constraints of a policy, which must name resources. */
export function validateConstraints(at: Field, match: DeepReadonly<MatchResources> | undefined): void {
  if (match === undefined) return at.required();
  validateMatch(at, match);
  if ((match.resourceRules?.length ?? 0) === 0) at.child('resourceRules').required();
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
      validateOperationsRule(place, rule);
    });
  }
}

/** Only requests that write objects can be changed. CONNECT is accepted, although its objects are options. */
const mutable = ['*', 'CONNECT', 'CREATE', 'UPDATE'];

/** Checks the operations of a mutating policy or its binding. The errors do not name the rule. */
export function validateMutableOperations(at: Field, match: DeepReadonly<MatchResources> | undefined): void {
  for (const { operations = [] } of match?.resourceRules ?? []) {
    for (const operation of operations)
      if (!mutable.includes(operation)) at.child('resourceRules', 'operations').notSupported(operation, mutable);
  }
}

export function validateParamKind(at: Field, { apiVersion = '', kind = '' }: DeepReadonly<ParamKind>): void {
  if (at.child('apiVersion').present(apiVersion)) validateVersion(at.child('apiVersion'), apiVersion);
  const place = at.child('kind');
  if (!place.present(kind)) return;
  const errors = dns1035LabelErrors(kind.toLowerCase());
  if (errors.length > 0) place.invalid(kind, `may have mixed case, but should otherwise match: ${errors.join(',')}`);
}

function validateVersion(at: Field, text: string): void {
  const parts = text.split('/');
  if (parts.length > 2) return at.invalid(text, `unexpected GroupVersion string: ${text}`);
  const [group = '', version = ''] = parts.length === 2 ? parts : ['', text];
  const groupErrors = group === '' ? [] : dnsSubdomainErrors(group);
  if (groupErrors.length > 0) at.invalid(group, groupErrors.join(','));
  if (version === '') return at.invalid(text, 'version must be specified');
  const versionErrors = dns1035LabelErrors(version);
  if (versionErrors.length > 0) at.invalid(version, versionErrors.join(','));
}

function validateParamRef(
  at: Field,
  { name = '', selector, parameterNotFoundAction: action }: DeepReadonly<ParamRef>,
): void {
  const exclusive = 'name and selector are mutually exclusive';
  at.child('name').invalidAll(name, name === '' ? [] : pathSegmentErrors(name));
  validateLabelSelector(at.child('selector'), selector);
  if (name !== '' && selector !== undefined)
    for (const member of ['name', 'selector']) at.child(member).forbidden(exclusive);
  if (name === '' && selector === undefined) at.required('one of name or selector must be specified');
  if (at.child('parameterNotFoundAction').present(action))
    at.child('parameterNotFoundAction').oneOf(action, ['Deny', 'Allow']);
}
