// Parts of a validating admission policy: the kind of its parameters, variables, validations, audit annotations.
// Expressions are not checked. Source: pkg/apis/admissionregistration/validation.
import type { DeepReadonly } from '@kapstan/api';
import { dnsSubdomainErrors, qualifiedNameErrors } from '@kapstan/api/errors';
import type { Field } from '@kapstan/apiserver/internal';
import { dns1035LabelErrors } from '@kapstan/apiserver/internal';
import type {
  AuditAnnotation,
  ParamKind,
  ValidatingAdmissionPolicySpec,
  Validation,
  Variable,
} from '@kapstan/kinds/admissionregistration.k8s.io/v1';
import { repetitions } from '../../validation/repetition.ts';

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

const maxAnnotations = 20;

export function validateExpressions(at: Field, spec: DeepReadonly<ValidatingAdmissionPolicySpec>, name: string): void {
  const { variables, validations = [], auditAnnotations = [] } = spec;
  at.child('variables').each(variables, (variable, place) => validateVariable(place, variable));
  if (validations.length + auditAnnotations.length === 0) {
    const text = 'validations or auditAnnotations must contain at least one item';
    at.child('validations').required(text);
    return at.child('auditAnnotations').required(text);
  }
  at.child('validations').each(validations, (validation, place) => validateValidation(place, validation));
  const place = at.child('auditAnnotations');
  if (auditAnnotations.length > maxAnnotations)
    place.invalid(auditAnnotations, `must not have more than ${maxAnnotations} auditAnnotations`);
  const isRepeated = repetitions<string>();
  place.each(auditAnnotations, (annotation, item) => {
    validateAnnotation(item, annotation, name);
    if (isRepeated(annotation.key)) item.child('key').duplicate(annotation.key);
  });
}

const celReserved: ReadonlySet<string> = new Set(
  'true false null in as break const continue else for function if import let loop package namespace return var void while'.split(
    ' ',
  ),
);

function validateVariable(at: Field, { name = '', expression = '' }: DeepReadonly<Variable>): void {
  if (name.trim() === '') at.child('name').required('name is not specified');
  else if (!/^[_a-zA-Z][_a-zA-Z0-9]*$/.test(name) || celReserved.has(name))
    at.child('name').invalid(name, 'must be a valid CEL identifier');
  if (expression.trim() === '') at.child('expression').required('expression is not specified');
}

function validateValidation(at: Field, validation: DeepReadonly<Validation>): void {
  const { expression = '', message = '', messageExpression = '', reason } = validation;
  if (expression.trim() === '') at.child('expression').required('expression is not specified');
  for (const [member, text] of Object.entries({ messageExpression, message })) {
    if (text !== '' && text.trim() === '') at.child(member).invalid(text, 'must be non-empty if specified');
  }
  if (/[\n\r]/.test(message.trim())) at.child('message').invalid(message, 'must not contain line breaks');
  if (reason !== undefined) at.child('reason').oneOf(reason, ['Forbidden', 'Invalid', 'RequestEntityTooLarge']);
}

const maxValueExpressionBytes = 5 * 1024;

function validateAnnotation(at: Field, annotation: DeepReadonly<AuditAnnotation>, name: string): void {
  const { key = '', valueExpression = '' } = annotation;
  if (name === '') at.child('key').invalid(key, 'requires metadata.name be non-empty');
  else at.child('key').invalidAll(`${name}/${key}`, qualifiedNameErrors(`${name}/${key}`));
  const place = at.child('valueExpression');
  if (valueExpression.trim() === '') place.required('valueExpression is not specified');
  else if (Buffer.byteLength(valueExpression.trim()) > maxValueExpressionBytes)
    place.required(`must not exceed ${maxValueExpressionBytes} bytes in length`);
}
