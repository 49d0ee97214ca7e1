// Rules for where a pod may run: tolerations, affinity, spread. Source: pkg/apis/core/validation.
import type { DeepReadonly } from '@kapstan/api';
import { dnsLabelErrors, dnsSubdomainErrors, labelValueErrors, qualifiedNameErrors } from '@kapstan/api/errors';
import type { Field } from '@kapstan/apiserver/internal';
import type { LabelSelector } from '@kapstan/kinds';
import type {
  Affinity,
  NodeSelector,
  NodeSelectorRequirement,
  NodeSelectorTerm,
  PodAffinity,
  PodAffinityTerm,
  Toleration,
  TopologySpreadConstraint,
} from '@kapstan/kinds/core/v1';
import { validateLabelSelector } from '../../validation/label-rules.ts';

const taintEffects = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'];

/** Source: ValidateTolerations. */
export function validateTolerations(at: Field, tolerations: readonly DeepReadonly<Toleration>[] | undefined): void {
  at.each(tolerations, (toleration, place) => {
    const { key = '', operator = '', value = '', effect = '' } = toleration;
    if (key !== '') place.child('key').invalidAll(key, qualifiedNameErrors(key));
    if (key === '' && operator !== 'Exists') {
      place
        .child('operator')
        .invalid(operator, 'operator must be Exists when `key` is empty, which means "match all values and all keys"');
    }
    if (toleration.tolerationSeconds !== undefined && effect !== 'NoExecute') {
      place.child('effect').invalid(effect, "effect must be 'NoExecute' when `tolerationSeconds` is set");
    }
    validateOperator(place.child('operator'), operator, value);
    if (effect !== '') place.child('effect').oneOf(effect, taintEffects);
  });
}

/** Errors of the value are reported at the operator. */
function validateOperator(at: Field, operator: string, value: string): void {
  if (operator === '' || operator === 'Equal') {
    const errors = labelValueErrors(value);
    if (errors.length > 0) at.invalid(value, errors.join(';'));
  } else if (operator === 'Lt' || operator === 'Gt') at.notSupported(operator, ['Equal', 'Exists', 'Lt', 'Gt']);
  else if (operator !== 'Exists') at.notSupported(operator, ['Equal', 'Exists']);
  else if (value !== '') at.invalid(value, "value must be empty when `operator` is 'Exists'");
}

const nodePolicies = ['Honor', 'Ignore'];

/** Source: validateTopologySpreadConstraints. */
export function validateSpread(
  at: Field,
  constraints: readonly DeepReadonly<TopologySpreadConstraint>[] | undefined,
): void {
  const pairs = (constraints ?? []).map(
    ({ topologyKey, whenUnsatisfiable }) => `{${topologyKey}, ${whenUnsatisfiable}}`,
  );
  const lastIndex = new Map(pairs.map((pair, index) => [pair, index]));
  at.each(constraints, (constraint, place, index) => {
    const { maxSkew, topologyKey, whenUnsatisfiable: action, minDomains } = constraint;
    if (maxSkew <= 0) place.child('maxSkew').invalid(maxSkew, 'must be greater than zero');
    if (topologyKey === '') place.child('topologyKey').required('can not be empty');
    place.child('whenUnsatisfiable').oneOf(action, ['DoNotSchedule', 'ScheduleAnyway']);
    const pair = pairs[index] ?? '';
    if ((lastIndex.get(pair) ?? index) > index) place.child('{topologyKey, whenUnsatisfiable}').duplicate(pair);
    if (minDomains !== undefined) validateMinDomains(place.child('minDomains'), minDomains, action);
    for (const name of ['nodeAffinityPolicy', 'nodeTaintsPolicy'] as const)
      if (constraint[name] !== undefined) place.child(name).oneOf(constraint[name], nodePolicies);
    validateLabelKeys(place, { ...constraint, labelSelector: constraint.labelSelector });
    validateLabelSelector(place.child('labelSelector'), constraint.labelSelector);
  });
}

function validateMinDomains(at: Field, count: number, action: string): void {
  if (count <= 0) at.invalid(count, 'must be greater than zero');
  if (action !== 'DoNotSchedule')
    at.invalid(count, `can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ${action}`);
}

type Keys = readonly string[] | undefined;

/** Checks keys that refer to labels of the pod itself. Source: ValidateMatchLabelKeysAndMismatchLabelKeys. */
function validateLabelKeys(
  at: Field,
  {
    matchLabelKeys: match,
    mismatchLabelKeys: mismatch,
    labelSelector,
  }: {
    readonly matchLabelKeys?: Keys;
    readonly mismatchLabelKeys?: Keys;
    readonly labelSelector: DeepReadonly<LabelSelector> | undefined;
  },
): void {
  for (const [name, keys] of Object.entries({ matchLabelKeys: match, mismatchLabelKeys: mismatch })) {
    const place = at.child(name);
    if (labelSelector !== undefined)
      place.each(keys, (key, keyPlace) => keyPlace.invalidAll(key, qualifiedNameErrors(key)));
    else if ((keys?.length ?? 0) > 0) place.forbidden('must not be specified when labelSelector is not set');
  }
  const lastIndex = new Map(match?.map((key, index) => [key, index]));
  const mismatched = new Set(mismatch);
  const selected = new Set(Object.keys(labelSelector?.matchLabels ?? {}));
  for (const { key } of labelSelector?.matchExpressions ?? []) {
    const index = lastIndex.get(key);
    if (index !== undefined && selected.has(key))
      at.index(index).invalid(key, 'exists in both matchLabelKeys and labelSelector');
    selected.add(key);
  }
  at.child('matchLabelKeys').each(match, (key, place) => {
    if (mismatched.has(key)) place.invalid(key, 'exists in both matchLabelKeys and mismatchLabelKeys');
  });
}

/** Source: validateAffinity. */
export function validateAffinity(at: Field, affinity: DeepReadonly<Affinity> | undefined): void {
  const node = affinity?.nodeAffinity;
  const nodePlace = at.child('nodeAffinity');
  const required = node?.requiredDuringSchedulingIgnoredDuringExecution;
  if (required !== undefined)
    validateNodeSelector(nodePlace.child('requiredDuringSchedulingIgnoredDuringExecution'), required);
  nodePlace
    .child('preferredDuringSchedulingIgnoredDuringExecution')
    .each(node?.preferredDuringSchedulingIgnoredDuringExecution, (term, place) => {
      validateWeight(place, term.weight);
      validateNodeTerm(place.child('preference'), term.preference);
    });
  if (affinity?.podAffinity !== undefined) validatePodAffinity(at.child('podAffinity'), affinity.podAffinity);
  if (affinity?.podAntiAffinity !== undefined)
    validatePodAffinity(at.child('podAntiAffinity'), affinity.podAntiAffinity);
}

/** Checks required terms, whose values must be valid label values. Source: ValidateNodeSelector. */
export function validateNodeSelector(at: Field, selector: DeepReadonly<NodeSelector>): void {
  const place = at.child('nodeSelectorTerms');
  if ((selector.nodeSelectorTerms?.length ?? 0) === 0) place.required('must have at least one node selector term');
  place.each(selector.nodeSelectorTerms, (term, termPlace) => {
    validateNodeTerm(termPlace, term);
    termPlace.child('matchExpressions').each(term.matchExpressions, ({ values }, expression) => {
      expression
        .child('values')
        .each(values, (value, valuePlace) => valuePlace.invalidAll(value, labelValueErrors(value)));
    });
  });
}

function validateNodeTerm(at: Field, term: DeepReadonly<NodeSelectorTerm>): void {
  at.child('matchExpressions').each(term.matchExpressions, validateRequirementAt);
  at.child('matchFields').each(term.matchFields, ({ key, operator, values }, place) => {
    if (operator !== 'In' && operator !== 'NotIn')
      place.child('operator').invalid(operator, 'not a valid selector operator');
    else if (values?.length !== 1)
      place
        .child('values')
        .required("must be only one value when `operator` is 'In' or 'NotIn' for node field selector");
    if (key !== 'metadata.name') return place.child('key').invalid(key, 'not a valid field selector key');
    place.child('values').each(values, (value, valuePlace) => valuePlace.invalidAll(value, dnsSubdomainErrors(value)));
  });
}

function validateRequirementAt(requirement: DeepReadonly<NodeSelectorRequirement>, at: Field): void {
  const count = requirement.values?.length ?? 0;
  switch (requirement.operator) {
    case 'In':
    case 'NotIn':
      if (count === 0) at.child('values').required("must be specified when `operator` is 'In' or 'NotIn'");
      break;
    case 'Exists':
    case 'DoesNotExist':
      if (count > 0) at.child('values').forbidden("may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
      break;
    case 'Gt':
    case 'Lt':
      if (count !== 1) at.child('values').required("must be specified single value when `operator` is 'Lt' or 'Gt'");
      break;
    default:
      at.child('operator').invalid(requirement.operator, 'not a valid selector operator');
  }
  at.child('key').invalidAll(requirement.key, qualifiedNameErrors(requirement.key));
}

function validatePodAffinity(at: Field, affinity: DeepReadonly<PodAffinity>): void {
  at.child('requiredDuringSchedulingIgnoredDuringExecution').each(
    affinity.requiredDuringSchedulingIgnoredDuringExecution,
    (term, place) => validatePodTerm(place, term),
  );
  at.child('preferredDuringSchedulingIgnoredDuringExecution').each(
    affinity.preferredDuringSchedulingIgnoredDuringExecution,
    (term, place) => {
      validateWeight(place, term.weight);
      validatePodTerm(place.child('podAffinityTerm'), term.podAffinityTerm);
    },
  );
}

function validateWeight(at: Field, weight: number): void {
  if (weight < 1 || weight > 100) at.child('weight').invalid(weight, 'must be in the range 1-100');
}

function validatePodTerm(at: Field, term: DeepReadonly<PodAffinityTerm>): void {
  validateLabelSelector(at.child('labelSelector'), term.labelSelector);
  validateLabelSelector(at.child('namespaceSelector'), term.namespaceSelector);
  for (const name of term.namespaces ?? []) at.child('namespace').invalidAll(name, dnsLabelErrors(name));
  validateLabelKeys(at, { ...term, labelSelector: term.labelSelector });
  if (term.topologyKey === '') at.child('topologyKey').required('can not be empty');
  at.child('topologyKey').invalidAll(term.topologyKey, qualifiedNameErrors(term.topologyKey));
}
