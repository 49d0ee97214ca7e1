// Checked construction of one term of a label selector. Used by the parser of label selectors and by labelSelectorFrom.
import { type FieldError, formatFieldErrors, invalidField } from '../errors/field-error.ts';
import { parseInt64 } from '../formats/parse-int64.ts';
import { labelValueErrors, qualifiedNameErrors } from '../formats/qualified-name.ts';

export type LabelOperator = '=' | '==' | '!=' | 'in' | 'notin' | 'exists' | '!' | '>' | '<';

/** One term. `values` is empty for existence, has one item for equality and order, and any number for sets. */
export interface LabelRequirement {
  readonly key: string;
  readonly operator: LabelOperator;
  readonly values: readonly string[];
}

/**
 * Makes one term. Throws TypeError with Kubernetes' text when key, operator and values do not fit. Source:
 * labels.NewRequirement.
 */
export function labelRequirement(key: string, operator: LabelOperator, values: readonly string[]): LabelRequirement {
  const errors = [...labelKeyErrors(key, 'key'), ...countErrors(operator, values)];
  const isOrder = operator === '>' || operator === '<';
  for (let index = 0; isOrder && index < values.length; index++) {
    const value = values[index] as string;
    if (parseInt64(value) === undefined)
      errors.push(invalidField(`values[${index}]`, value, "for 'Gt', 'Lt' operators, the value must be an integer"));
  }
  for (let index = 0; index < values.length; index++) {
    const value = values[index] as string;
    const wrong = labelValueErrors(value);
    if (wrong.length > 0) errors.push(invalidField(`values[${index}][${key}]`, value, wrong.join('; ')));
  }
  if (errors.length > 0) throw new TypeError(formatFieldErrors(errors));
  return { key, operator, values };
}

/** Returns at most one error with all texts in it. `field` is "<nil>" where Kubernetes has no path. */
export function labelKeyErrors(key: string, field: string): FieldError[] {
  const wrong = qualifiedNameErrors(key);
  return wrong.length === 0 ? [] : [invalidField(field, key, wrong.join('; '))];
}

function countErrors(operator: LabelOperator, values: readonly string[]): FieldError[] {
  const text = countError(operator, values.length);
  return text === undefined ? [] : [invalidField('values', values, text)];
}

function countError(operator: LabelOperator, count: number): string | undefined {
  switch (operator) {
    case 'in':
    case 'notin':
      return count > 0 ? undefined : "for 'in', 'notin' operators, values set can't be empty";
    case '=':
    case '==':
    case '!=':
      return count === 1 ? undefined : 'exact-match compatibility requires one single value';
    case 'exists':
    case '!':
      return count === 0 ? undefined : 'values set must be empty for exists and does not exist';
    case '>':
    case '<':
      return count === 1 ? undefined : "for 'Gt', 'Lt' operators, exactly one value is required";
  }
}
