// Errors of single fields, with the texts of apimachinery's util/validation/field. Used by validation, read by clients as causes.
import { goQuote } from './go-quote.ts';
import type { StatusCause } from './status.ts';

/** Source: field.ErrorType. */
export type FieldErrorType =
  | 'FieldValueNotFound'
  | 'FieldValueRequired'
  | 'FieldValueDuplicate'
  | 'FieldValueInvalid'
  | 'FieldValueNotSupported'
  | 'FieldValueForbidden'
  | 'FieldValueTooLong'
  | 'FieldValueTooMany'
  | 'InternalError'
  | 'FieldValueTypeInvalid';

export interface FieldError {
  readonly type: FieldErrorType;
  /** "spec.containers[0].name"; "<nil>" or "" for the object itself. */
  readonly field: string;
  /** What stood there; shown in the message of most types. */
  readonly badValue?: unknown;
  readonly detail: string;
}

const titles: Readonly<Record<FieldErrorType, string>> = {
  FieldValueNotFound: 'Not found',
  FieldValueRequired: 'Required value',
  FieldValueDuplicate: 'Duplicate value',
  FieldValueInvalid: 'Invalid value',
  FieldValueNotSupported: 'Unsupported value',
  FieldValueForbidden: 'Forbidden',
  FieldValueTooLong: 'Too long',
  FieldValueTooMany: 'Too many',
  InternalError: 'Internal error',
  FieldValueTypeInvalid: 'Invalid value',
};

const withoutValue: ReadonlySet<FieldErrorType> = new Set([
  'FieldValueRequired',
  'FieldValueForbidden',
  'FieldValueTooLong',
  'InternalError',
]);

/** The message without the field: `Invalid value: "x": must be …`. Source: field.Error.ErrorBody. */
export function fieldErrorBody(error: FieldError): string {
  const title = titles[error.type];
  const head =
    withoutValue.has(error.type) || error.badValue === undefined
      ? title
      : `${title}: ${formatBadValue(error.badValue)}`;
  return error.detail === '' ? head : `${head}: ${error.detail}`;
}

/** The whole message: `spec.replicas: Invalid value: -1: must be …`. */
export function formatFieldError(error: FieldError): string {
  return `${error.field}: ${fieldErrorBody(error)}`;
}

/** One error as it is, several in brackets, equal texts once. Source: utilerrors.Aggregate.Error. */
export function formatFieldErrors(errors: readonly FieldError[]): string {
  const texts = [...new Set(errors.map(formatFieldError))];
  return texts.length <= 1 ? (texts[0] ?? '') : `[${texts.join(', ')}]`;
}

export function fieldErrorCause(error: FieldError): StatusCause {
  return { reason: error.type, message: fieldErrorBody(error), field: error.field };
}

export const requiredField = (field: string, detail = ''): FieldError => ({
  type: 'FieldValueRequired',
  field,
  detail,
});
export const invalidField = (field: string, badValue: unknown, detail: string): FieldError => ({
  type: 'FieldValueInvalid',
  field,
  badValue,
  detail,
});
export const typeInvalidField = (field: string, badValue: unknown, detail: string): FieldError => ({
  type: 'FieldValueTypeInvalid',
  field,
  badValue,
  detail,
});
export const forbiddenField = (field: string, detail: string): FieldError => ({
  type: 'FieldValueForbidden',
  field,
  detail,
});
export const duplicateField = (field: string, badValue: unknown): FieldError => ({
  type: 'FieldValueDuplicate',
  field,
  badValue,
  detail: '',
});
export const notFoundField = (field: string, badValue: unknown): FieldError => ({
  type: 'FieldValueNotFound',
  field,
  badValue,
  detail: '',
});

/** Source: field.NotSupported: values are quoted, in the order given (Kubernetes sorts where its callers hold a set). */
export function notSupportedField(field: string, badValue: unknown, valid: readonly string[]): FieldError {
  const detail = valid.length === 0 ? '' : `supported values: ${valid.map(goQuote).join(', ')}`;
  return { type: 'FieldValueNotSupported', field, badValue, detail };
}

/** Source: field.TooLong; lengths are in bytes. */
export const tooLongField = (field: string, maxLength: number): FieldError => ({
  type: 'FieldValueTooLong',
  field,
  detail: maxLength === 1 ? 'may not be more than 1 byte' : `may not be more than ${maxLength} bytes`,
});

/** Source: field.TooMany. */
export const tooManyField = (field: string, actual: number, max: number): FieldError => ({
  type: 'FieldValueTooMany',
  field,
  badValue: actual,
  detail: `must have at most ${max} item${max === 1 ? '' : 's'}`,
});

/** Path of an item: `spec.ports[2]`. */
export const fieldIndex = (field: string, index: number): string => `${field}[${index}]`;
/** Path of a map's key: `metadata.labels[app]`. */
export const fieldKey = (field: string, key: string): string => `${field}[${key}]`;
/** Path of a member. */
export const fieldChild = (field: string, name: string): string => (field === '' ? name : `${field}.${name}`);

function formatBadValue(value: unknown): string {
  if (value === null) return 'null';
  if (typeof value === 'string') return goQuote(value);
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}
