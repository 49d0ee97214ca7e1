// Constructors of errors for servers, fakes of servers and validators. Programs that only test errors need @kapstan/api
// alone.

export { aggregateTexts } from './errors/aggregate.ts';
export {
  duplicateField,
  type FieldError,
  fieldChild,
  fieldIndex,
  fieldKey,
  forbiddenField,
  formatFieldError,
  formatFieldErrors,
  invalidField,
  notFoundField,
  notSupportedField,
  requiredField,
  tooLongField,
  tooManyField,
  typeInvalidField,
} from './errors/field-error.ts';
export type { StatusCause, StatusDetails, StatusMetadata } from './errors/status.ts';
export {
  alreadyExists,
  badRequest,
  conflict,
  expired,
  forbidden,
  insufficientStorage,
  internalError,
  invalid,
  methodNotSupported,
  notAcceptable,
  notFound,
  notImplemented,
  requestEntityTooLarge,
  type StatusErrorInit,
  serverTimeout,
  serviceUnavailable,
  statusErrorFrom,
  timeout,
  tooLargeResourceVersion,
  tooManyRequests,
  unauthorized,
  unsupportedMediaType,
} from './errors/status-error.ts';
export { dnsLabelErrors, dnsSubdomainErrors, labelValueErrors, qualifiedNameErrors } from './formats/qualified-name.ts';
