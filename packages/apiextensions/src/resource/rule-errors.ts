// The rules of a custom resource (x-kubernetes-validations) over an object that is written. Rules need an object that is of the right
// shape. Source: apiextensions registry/customresource strategy.go Validate, hasBlockingErr.
import type { DeepReadonly, UnstructuredObject } from '@kapstan/api';
import { type FieldError, invalidField } from '@kapstan/api/errors';
import type { SlicedWork } from '@kapstan/api/internal';
import { CorrelatedObject, type JsonSchema } from '@kapstan/apiserver/internal';
import { Correlation } from '../rules/correlation.ts';
import { type EvaluatedRules, evaluateRules, type Pace } from '../rules/rule-evaluation.ts';
import type { RuleValidator } from '../rules/rule-validator.ts';

type Custom = DeepReadonly<UnstructuredObject>;

export interface CheckedObject {
  readonly object: Custom;
  /** Absent for a create. */
  readonly old: Custom | undefined;
  /** Errors found in the object so far. */
  readonly errors: readonly FieldError[];
  readonly pace: Pace;
  /** Receives the errors that are tolerated, because nothing has changed at their place. */
  warn(text: string): void;
}

export function* ruleErrors(
  rules: RuleValidator,
  { object, old, errors, pace, warn }: CheckedObject,
): SlicedWork<readonly FieldError[]> {
  if (errors.some(isBlocking)) return [notChecked];
  const evaluated = yield* evaluateObjectRules(rules, { object, old, pace });
  for (const text of evaluated.warnings) warn(text);
  return evaluated.errors;
}

/** Evaluates the rules for a whole object. */
export function evaluateObjectRules(
  rules: RuleValidator,
  { object, old, pace }: Pick<CheckedObject, 'object' | 'old' | 'pace'>,
): SlicedWork<EvaluatedRules> {
  const correlation =
    old === undefined
      ? Correlation.none
      : new Correlation(new CorrelatedObject(object, old, rules.schema as JsonSchema), undefined);
  return evaluateRules(rules, { path: '', value: object, old, correlation }, { pace });
}

const blocking: ReadonlySet<FieldError['type']> = new Set([
  'FieldValueNotSupported',
  'FieldValueRequired',
  'FieldValueTooLong',
  'FieldValueTooMany',
  'FieldValueTypeInvalid',
]);

function isBlocking({ type }: FieldError): boolean {
  return blocking.has(type);
}

const notChecked = invalidField(
  '<nil>',
  null,
  'some validation rules were not checked because the object was invalid; correct the existing errors to complete validation',
);
