// What of the selectors in a review of access could not be understood, and so did not count. RBAC looks at none of them.
// Source: pkg/registry/authorization/util (ResourceAttributesFrom, BuildEvaluationError).
import { type DeepReadonly, parseFieldSelector, parseLabelSelector } from '@kapstan/api';
import type {
  FieldSelectorAttributes,
  LabelSelectorAttributes,
  SubjectAccessReviewSpec,
} from '@kapstan/kinds/authorization.k8s.io/v1';

type Attributes = DeepReadonly<FieldSelectorAttributes | LabelSelectorAttributes>;
type Requirement = NonNullable<Attributes['requirements']>[number];

/** The evaluationError of the review; undefined when there is none. */
export function selectorError({ resourceAttributes }: DeepReadonly<SubjectAccessReviewSpec>): string | undefined {
  const { fieldSelector, labelSelector } = resourceAttributes ?? {};
  const errors = [
    ...faultOf('fieldSelector', fieldSelector, { parse: parseFieldSelector, isKnown: isKnownFieldRequirement }),
    ...faultOf('labelSelector', labelSelector, { parse: parseLabelSelector, isKnown: isKnownLabelRequirement }),
  ];
  return errors.length === 0 ? undefined : errors.join('; ');
}

function faultOf(
  name: string,
  { rawSelector = '', requirements = [] }: Attributes = {},
  { parse, isKnown }: { parse(text: string): unknown; isKnown(requirement: Requirement): boolean },
): readonly string[] {
  const known = requirements.filter(isKnown).length;
  const isUnderstood = requirements.length > 0 ? known === requirements.length : parses(rawSelector, parse);
  if (isUnderstood) return [];
  return [`spec.resourceAttributes.${name} ${known > 0 ? 'partially ' : ''}ignored due to parse error`];
}

function parses(text: string, parse: (text: string) => unknown): boolean {
  try {
    parse(text);
    return true;
  } catch (error) {
    if (error instanceof TypeError) return false;
    throw error;
  }
}

/** Fields are compared with one value, or not at all. */
function isKnownFieldRequirement({ operator, values = [] }: Requirement): boolean {
  return (operator === 'In' || operator === 'NotIn') && values.length === 1;
}

function isKnownLabelRequirement({ operator }: Requirement): boolean {
  return ['In', 'NotIn', 'Exists', 'DoesNotExist'].includes(operator);
}
