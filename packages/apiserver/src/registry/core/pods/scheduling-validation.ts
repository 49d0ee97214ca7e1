// Rules for where a pod may run: tolerations, affinity, spread. Source: pkg/apis/core/validation.
import { type DeepReadonly, labelValueErrors, qualifiedNameErrors } from '@kapstan/api';
import type {
  Affinity,
  NodeSelectorRequirement,
  NodeSelectorTerm,
  PodAffinity,
  PodAffinityTerm,
  Toleration,
  TopologySpreadConstraint,
} from '@kapstan/kinds/core/v1';
import type { Field } from '../../validation/field.ts';
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

/** What is wrong with the value is told at the operator. */
function validateOperator(at: Field, operator: string, value: string): void {
  if (operator === '' || operator === 'Equal') at.invalidAll(value, labelValueErrors(value));
  else if (operator !== 'Exists') at.notSupported(operator, ['Equal', 'Exists']);
  else if (value !== '') at.invalid(value, "value must be empty when `operator` is 'Exists'");
}

/** Source: validateTopologySpreadConstraints. */
export function validateSpread(
  at: Field,
  constraints: readonly DeepReadonly<TopologySpreadConstraint>[] | undefined,
): void {
  const seen = new Set<string>();
  at.each(constraints, (constraint, place) => {
    if (constraint.maxSkew <= 0) place.child('maxSkew').invalid(constraint.maxSkew, 'must be greater than zero');
    if (constraint.topologyKey === '') place.child('topologyKey').required('can not be empty');
    place.child('whenUnsatisfiable').oneOf(constraint.whenUnsatisfiable, ['DoNotSchedule', 'ScheduleAnyway']);
    const pair = `{${constraint.topologyKey}, ${constraint.whenUnsatisfiable}}`;
    if (seen.has(pair)) place.child('{topologyKey, whenUnsatisfiable}').duplicate(pair);
    seen.add(pair);
    if (constraint.minDomains !== undefined && constraint.minDomains <= 0) {
      place.child('minDomains').invalid(constraint.minDomains, 'must be greater than zero');
    }
    validateLabelSelector(place.child('labelSelector'), constraint.labelSelector);
  });
}

/** Source: validateAffinity. */
export function validateAffinity(at: Field, affinity: DeepReadonly<Affinity> | undefined): void {
  const node = affinity?.nodeAffinity;
  const nodePlace = at.child('nodeAffinity');
  const required = node?.requiredDuringSchedulingIgnoredDuringExecution;
  if (required !== undefined) {
    const place = nodePlace.child('requiredDuringSchedulingIgnoredDuringExecution', 'nodeSelectorTerms');
    if ((required.nodeSelectorTerms?.length ?? 0) === 0) place.required('must have at least one node selector term');
    place.each(required.nodeSelectorTerms, (term, termPlace) => validateNodeTerm(termPlace, term));
  }
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

function validateNodeTerm(at: Field, term: DeepReadonly<NodeSelectorTerm>): void {
  at.child('matchExpressions').each(term.matchExpressions, validateRequirementAt);
  at.child('matchFields').each(term.matchFields, (field, place) => {
    if (field.key !== 'metadata.name') place.child('key').invalid(field.key, 'not a valid field selector key');
    else if (field.values?.length !== 1)
      place
        .child('values')
        .required("must be only one value when `operator` is 'In' or 'NotIn' for node field selector");
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
  if (term.topologyKey === '') at.child('topologyKey').required('can not be empty');
  at.child('topologyKey').invalidAll(term.topologyKey, qualifiedNameErrors(term.topologyKey));
}
