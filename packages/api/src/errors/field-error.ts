// Errors of single fields, with the texts of apimachinery's util/validation/field. Validation makes them, clients read
// them as causes.

import { goQuote } from '../formats/go-quote.ts';
import { formatGoNumber } from '../json/go-number.ts';
import { ExactNumber } from '../json/json.ts';
import type { StatusCause } from './status.ts';

/** Source: field.ErrorType. */
type FieldErrorType =
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

/**
 * The fault of one field of an object: its path, its value, and the reason. A 422 has a cause for each. Source:
 * apimachinery field.Error.
 */
export interface FieldError {
  readonly type: FieldErrorType;
  /** For example "spec.containers[0].name"; "<nil>" or "" for the object itself. */
  readonly field: string;
  /** The faulty value, which most types of error show in their message. */
  readonly badValue?: unknown;
  readonly detail: string;
  /** Number of errors that were not kept. Set only in the entry that represents them, see `omittedErrors`. */
  readonly omitted?: number;
}

/**
 * Maximum number of errors that one answer shows; further ones are counted. kube-apiserver shows all, in answers that
 * can be many times as long as the request. The longest answer in its own tests has seven.
 */
export const maxToldErrors = 100;
/** Maximum number of characters in all errors of one answer. Errors beyond them are only counted. */
const maxToldLength = 128 * 1024;
/**
 * Maximum number of characters of a path, a value or a detail. All three contain text from a client, so each could be
 * as long as a request.
 */
const maxShownLength = 8 * 1024;

/** Makes the last entry of a list, which represents errors that were not kept. */
export const omittedErrors = (count: number): FieldError => ({
  type: 'InternalError',
  field: '',
  detail: '',
  omitted: count,
});

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

/** Returns the message without the field: `Invalid value: "x": must be …`. Source: field.Error.ErrorBody. */
export function fieldErrorBody(error: FieldError): string {
  const title = titles[error.type];
  const head =
    withoutValue.has(error.type) || error.badValue === undefined
      ? title
      : `${title}: ${formatBadValue(error.badValue)}`;
  return error.detail === '' ? head : `${head}: ${shownText(error.detail)}`;
}

/** Returns the whole message: `spec.replicas: Invalid value: -1: must be …`. */
export function formatFieldError(error: FieldError): string {
  return `${shownText(error.field)}: ${fieldErrorBody(error)}`;
}

/**
 * Joins the different texts of the errors in brackets. A single text stays as it is. Source:
 * utilerrors.Aggregate.Error.
 */
export function formatFieldErrors(errors: readonly FieldError[]): string {
  return tellFieldErrors(errors).message;
}

/** The form of errors in an answer. */
export interface ToldErrors {
  /** The errors in one text. Source: utilerrors.Aggregate.Error. */
  readonly message: string;
  readonly causes: readonly StatusCause[];
}

/** Returns the texts of the first {@link maxToldErrors} errors, fewer if they are long, and counts the others. */
export function tellFieldErrors(errors: readonly FieldError[]): ToldErrors {
  const causes: StatusCause[] = [];
  const texts = new Set<string>();
  let length = 0;
  let untold = 0;
  for (const error of errors) {
    if (error.omitted !== undefined || causes.length >= maxToldErrors || length >= maxToldLength) {
      untold += error.omitted ?? 1;
      continue;
    }
    const cause = fieldErrorCause(error);
    const text = `${cause.field}: ${cause.message}`;
    length += text.length;
    causes.push(cause);
    texts.add(text);
  }
  if (untold > 0) {
    const what = `${untold} more error${untold === 1 ? '' : 's'}`;
    causes.push({ message: `${what} not shown` });
    texts.add(`and ${what}`);
  }
  const [first = ''] = texts;
  return { message: texts.size <= 1 ? first : `[${[...texts].join(', ')}]`, causes };
}

export function fieldErrorCause(error: FieldError): StatusCause {
  return { reason: error.type, message: fieldErrorBody(error), field: shownText(error.field) };
}

/** Returns the text, or the beginning of a long one with its length. */
export function shownText(text: string): string {
  return text.length <= maxShownLength ? text : `${text.slice(0, maxShownLength)}${lengthNote(text)}`;
}

const lengthNote = (text: string): string => `… (${text.length} characters)`;

/** Returns the error of a field that is missing. */
export const requiredField = (field: string, detail = ''): FieldError => ({
  type: 'FieldValueRequired',
  field,
  detail,
});
/** Returns the error of a field whose value is wrong; `detail` says what the value must be. */
export const invalidField = (field: string, badValue: unknown, detail: string): FieldError => ({
  type: 'FieldValueInvalid',
  field,
  badValue,
  detail,
});
/** Returns the error of a field whose value has another type; `detail` names the right one. */
export const typeInvalidField = (field: string, badValue: unknown, detail: string): FieldError => ({
  type: 'FieldValueTypeInvalid',
  field,
  badValue,
  detail,
});
/** Returns the error of a field that may not be set here. */
export const forbiddenField = (field: string, detail: string): FieldError => ({
  type: 'FieldValueForbidden',
  field,
  detail,
});
/** Returns the error of a value that must be unique and is not. */
export const duplicateField = (field: string, badValue: unknown): FieldError => ({
  type: 'FieldValueDuplicate',
  field,
  badValue,
  detail: '',
});
/** Returns the error of a field that refers to something that is not there. */
export const notFoundField = (field: string, badValue: unknown): FieldError => ({
  type: 'FieldValueNotFound',
  field,
  badValue,
  detail: '',
});

/**
 * Quotes the values in the order given (Kubernetes sorts them where its callers have a set). Source:
 * field.NotSupported.
 */
export function notSupportedField(field: string, badValue: unknown, valid: readonly string[]): FieldError {
  return { type: 'FieldValueNotSupported', field, badValue, detail: supportedValues(valid) };
}

/** Does what {@link notSupportedField} does, for many values: the text of the supported values is made once, when it is first needed. */
export function notSupportedFieldOf(valid: () => readonly string[]): (field: string, badValue: unknown) => FieldError {
  let detail: string | undefined;
  return (field, badValue) => {
    detail ??= supportedValues(valid());
    return { type: 'FieldValueNotSupported', field, badValue, detail };
  };
}

const supportedValues = (valid: readonly string[]): string =>
  valid.length === 0 ? '' : `supported values: ${valid.map(goQuote).join(', ')}`;

/** Lengths are in bytes. Source: field.TooLong. */
export const tooLongField = (field: string, maxLength: number): FieldError => ({
  type: 'FieldValueTooLong',
  field,
  detail: tooLongText(maxLength),
});

function tooLongText(maxLength: number): string {
  if (maxLength < 0) return 'value is too long';
  return maxLength === 1 ? 'may not be more than 1 byte' : `may not be more than ${maxLength} bytes`;
}

/** Source: field.TooMany. */
export const tooManyField = (field: string, actual: number, max: number): FieldError => ({
  type: 'FieldValueTooMany',
  field,
  badValue: actual,
  detail: `must have at most ${max} item${max === 1 ? '' : 's'}`,
});

/** Returns the path of an item: `spec.ports[2]`. */
export const fieldIndex = (field: string, index: number): string => `${field}[${index}]`;
/** Returns the path of a map's key: `metadata.labels[app]`. */
export const fieldKey = (field: string, key: string): string => `${field}[${key}]`;
/** Returns the path of a member. */
export const fieldChild = (field: string, name: string): string => (field === '' ? name : `${field}.${name}`);

function formatBadValue(value: unknown): string {
  if (value === null) return 'null';
  if (typeof value === 'string') {
    return value.length <= maxShownLength
      ? goQuote(value)
      : `${goQuote(value.slice(0, maxShownLength))}${lengthNote(value)}`;
  }
  if (typeof value === 'number' || value instanceof ExactNumber) return formatGoNumber(value);
  return typeof value === 'object' ? shownJson(value) : shownText(String(value));
}

/** Go escapes JSON so that it can be embedded in an HTML page. */
const htmlEscapes: Readonly<Record<string, string>> = { '<': '\\u003c', '>': '\\u003e', '&': '\\u0026' };

/** Writes JSON as Go does, but only as much of a long value as is shown, because a hundred errors may show it. */
function shownJson(value: object): string {
  const parts: string[] = [];
  const rest = writeJson(value, parts, maxShownLength);
  const text = rest > 0 ? JSON.stringify(value) : `${parts.join('').slice(0, maxShownLength)}…`;
  return text.replace(/[<>&]/g, (mark) => htmlEscapes[mark] ?? mark);
}

/** Writes at most `room` characters plus one more key or scalar; returns the room left. */
function writeJson(value: unknown, parts: string[], room: number): number {
  if (typeof value !== 'object' || value === null || 'toJSON' in value) {
    const text = typeof value === 'string' ? JSON.stringify(value.slice(0, room)) : (JSON.stringify(value) ?? 'null');
    parts.push(text);
    return room - text.length;
  }
  const isList = Array.isArray(value);
  let left = room - 2;
  let separator = isList ? '[' : '{';
  for (const key in value) {
    if (left <= 0) return left;
    const head = isList ? separator : `${separator}${JSON.stringify(key.slice(0, left))}:`;
    parts.push(head);
    left = writeJson((value as Record<string, unknown>)[key], parts, left - head.length);
    separator = ',';
  }
  parts.push(separator === ',' ? '' : separator, isList ? ']' : '}');
  return left;
}
