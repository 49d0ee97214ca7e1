// Reads the selectors of a review of access as authorizers see them, and reports terms that were not understood and do
// not count. RBAC ignores selectors. Source: pkg/registry/authorization/util (ResourceAttributesFrom,
// BuildEvaluationError).

import { type DeepReadonly, labelSelectorFrom, parseFieldSelector, parseLabelSelector } from '@kapstan/api';
import type { FieldRequirement, LabelRequirement } from '@kapstan/api/internal';
import type { AuthorizationAttributes } from '@kapstan/apiserver';
import type { SelectorTerms } from '@kapstan/apiserver/internal';
import { parsedTerms } from '@kapstan/apiserver/internal';
import type {
  FieldSelectorAttributes,
  LabelSelectorAttributes,
  ResourceAttributes,
} from '@kapstan/kinds/authorization.k8s.io/v1';

type ReviewedSelector = DeepReadonly<FieldSelectorAttributes | LabelSelectorAttributes>;
type Term = NonNullable<ReviewedSelector['requirements']>[number];
type SelectorAttributes = Pick<
  AuthorizationAttributes & { readonly type: 'resource' },
  'fieldSelector' | 'labelSelector'
>;

/** Returns the selectors that are present and select something. */
export function reviewedSelectors(attributes: DeepReadonly<ResourceAttributes>): SelectorAttributes {
  const fields = termsOf(attributes.fieldSelector, {
    parse: (text) => parseFieldSelector(text).requirements,
    read: readFieldTerm,
  });
  const labels = termsOf(attributes.labelSelector, {
    parse: (text) => parseLabelSelector(text).requirements,
    read: readLabelTerm,
  });
  return { fieldSelector: fields, labelSelector: labels };
}

/** Returns the evaluationError of the review; undefined when there is none. */
export function selectorError({ fieldSelector, labelSelector }: SelectorAttributes): string | undefined {
  const faults = [...faultOf('fieldSelector', fieldSelector), ...faultOf('labelSelector', labelSelector)];
  return faults.length === 0 ? undefined : faults.join('; ');
}

function faultOf(name: string, terms: SelectorTerms<unknown> | undefined): readonly string[] {
  if (terms?.error === undefined) return [];
  const extent = terms.requirements.length > 0 ? 'partially ' : '';
  return [`spec.resourceAttributes.${name} ${extent}ignored due to parse error`];
}

function termsOf<T>(
  { rawSelector = '', requirements = [] }: ReviewedSelector = {},
  { parse, read }: { parse(text: string): readonly T[]; read(term: Term): T },
): SelectorTerms<T> | undefined {
  if (requirements.length === 0) return parsedTerms(rawSelector, parse);
  const known: T[] = [];
  const errors: Error[] = [];
  for (const term of requirements) {
    try {
      known.push(read(term));
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
      errors.push(error);
    }
  }
  const error = errors.length > 1 ? new AggregateError(errors) : errors[0];
  return { requirements: known, error };
}

/** Fields can only be compared with a single value. Throws TypeError. */
function readFieldTerm({ key, operator, values = [] }: Term): FieldRequirement {
  const [value, ...others] = values;
  if (others.length > 0) throw new TypeError('fieldSelectors do not yet support multiple values');
  const known = fieldOperators.get(operator);
  if (known === undefined) throw new TypeError(`${JSON.stringify(operator)} is not a field selector operator`);
  if (value === undefined) throw new TypeError('fieldSelectors must have one value');
  return { field: key, operator: known, value };
}

const fieldOperators: ReadonlyMap<string, FieldRequirement['operator']> = new Map([
  ['In', '='],
  ['NotIn', '!='],
]);

/** Throws TypeError for a malformed term. */
function readLabelTerm(term: Term): LabelRequirement {
  const [requirement] = labelSelectorFrom({ matchExpressions: [term] }).requirements;
  return requirement as LabelRequirement;
}
