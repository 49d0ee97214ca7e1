// Validates the rules of a definition except for their expressions. Source:
// ValidateCustomResourceDefinitionOpenAPISchema.
import type { Field } from '@kapstan/apiserver/internal';
import { resolveFieldPath } from './rule-field-path.ts';
import { type Rule, type RuleSchema, rulesOf } from './rule-schema.ts';

const reasons = ['FieldValueDuplicate', 'FieldValueForbidden', 'FieldValueInvalid', 'FieldValueRequired'];

export function validateRuleWords(at: Field, schema: RuleSchema): void {
  const place = at.child('x-kubernetes-validations');
  for (const [index, rule] of rulesOf(schema).entries()) {
    const field = place.index(index);
    validateTexts(field, rule);
    if (rule.messageExpression && rule.messageExpression.trim() === '') {
      field.child('messageExpression').required('messageExpression must be non-empty if specified');
    }
    if (rule.reason !== undefined && rule.reason !== null && !reasons.includes(rule.reason)) {
      field.child('reason').notSupported(rule.reason, reasons);
    }
    validatePath(field.child('fieldPath'), rule.fieldPath ?? '', schema);
  }
}

/** Reports at most one error per rule. */
function validateTexts(at: Field, { rule = '', message = '' }: Rule): void {
  const text = message.trim();
  if (rule.trim() === '') at.child('rule').required('rule is not specified');
  else if (message !== '' && text === '') at.child('message').invalid(message, 'must be non-empty if specified');
  else if (hasLineBreak(text)) at.child('message').invalid(message, 'must not contain line breaks');
  else if (hasLineBreak(rule.trim()) && text === '') {
    at.child('message').required('message must be specified if rule contains line breaks');
  }
}

function validatePath(at: Field, path: string, schema: RuleSchema): void {
  if (path === '') return;
  if (path.trim() === '') at.invalid(path, 'must be non-empty if specified');
  if (hasLineBreak(path)) at.invalid(path, 'must not contain line breaks');
  if (resolveFieldPath(path, schema) === undefined) at.invalid(path, 'must be a valid path');
}

function hasLineBreak(text: string): boolean {
  return /[\n\r]/.test(text);
}
