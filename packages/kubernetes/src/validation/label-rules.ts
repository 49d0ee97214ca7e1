// Labels and label selectors inside objects. Source: apimachinery metav1/validation.
import { type DeepReadonly, labelSelectorFrom } from '@kapstan/api';
import { labelValueErrors, qualifiedNameErrors } from '@kapstan/api/errors';
import type { Field } from '@kapstan/apiserver/internal';
import type { LabelSelector, LabelSelectorRequirement } from '@kapstan/kinds';

/** Errors are reported at the map itself, not at its keys. Source: ValidateLabels. */
export function validateLabels(at: Field, labels: Readonly<Record<string, string>> | undefined): void {
  for (const [key, value] of Object.entries(labels ?? {})) {
    at.invalidAll(key, qualifiedNameErrors(key));
    at.invalidAll(value, labelValueErrors(value));
  }
}

/** Source: ValidateLabelSelector. */
export function validateLabelSelector(at: Field, selector: DeepReadonly<LabelSelector> | undefined): void {
  if (selector === undefined || selector === null) return;
  validateLabels(at.child('matchLabels'), selector.matchLabels);
  at.child('matchExpressions').each(selector.matchExpressions, (term, place) => validateTerm(place, term));
}

function validateTerm(at: Field, term: DeepReadonly<LabelSelectorRequirement>): void {
  const hasValues = (term.values?.length ?? 0) > 0;
  switch (term.operator) {
    case 'In':
    case 'NotIn':
      if (!hasValues) at.child('values').required("must be specified when `operator` is 'In' or 'NotIn'");
      break;
    case 'Exists':
    case 'DoesNotExist':
      if (hasValues) at.child('values').forbidden("may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
      break;
    default:
      at.child('operator').invalid(term.operator, 'not a valid selector operator');
  }
  at.child('key').invalidAll(term.key, qualifiedNameErrors(term.key));
  at.child('values').each(term.values, (value, place) => place.invalidAll(value, labelValueErrors(value)));
}

/** True when the selector selects the labels; undefined when the selector is invalid. */
export function selectsLabels(
  selector: DeepReadonly<LabelSelector> | undefined,
  labels: Readonly<Record<string, string>> | undefined,
): boolean | undefined {
  try {
    return labelSelectorFrom(selector).matches(labels ?? {});
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}

/** Returns the members in the order of the Go struct, for messages that show the selector. */
export function goLabelSelector(selector: DeepReadonly<LabelSelector> | undefined): unknown {
  if (selector === undefined || selector === null) return null;
  const { matchLabels, matchExpressions = [] } = selector;
  const shown = matchExpressions.map(({ key, operator, values = [] }) => ({
    key,
    operator,
    ...(values.length === 0 ? {} : { values }),
  }));
  return {
    ...(Object.keys(matchLabels ?? {}).length === 0 ? {} : { matchLabels: goStringMap(matchLabels) }),
    ...(shown.length === 0 ? {} : { matchExpressions: shown }),
  };
}

/** Sorts the keys as encoding/json does; null for an absent map. */
export function goStringMap<T>(map: Readonly<Record<string, T>> | undefined): Readonly<Record<string, T>> | null {
  if (map === undefined) return null;
  return Object.fromEntries(Object.entries(map).sort(([a], [b]) => (a < b ? -1 : 1)));
}
