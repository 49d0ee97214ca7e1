// The API's error family: an Error that is a Status, its constructors with Kubernetes' texts, and its predicates.

import { goQuote, withoutEscapedBytes } from '../formats/go-quote.ts';
import { formatGroupKind, formatGroupResource, type GroupKind, type GroupResource } from '../objects/group-version.ts';
import { type FieldError, shownText, type ToldErrors, tellFieldErrors } from './field-error.ts';
import { messageOf } from './message-of.ts';
import type { Status, StatusDetails, StatusMetadata, StatusReason } from './status.ts';

const brand = Symbol.for('@kapstan/api/StatusError');

/** The members of the Status that a {@link StatusError} is made of. */
export interface StatusErrorInit {
  readonly code: number;
  readonly reason: StatusReason;
  readonly message: string;
  readonly details?: StatusDetails | undefined;
  /** Default: empty. */
  readonly metadata?: StatusMetadata | undefined;
  /** Default "Failure". */
  readonly status?: Status['status'] | undefined;
}

/**
 * A failure that a Kubernetes API server has answered or will answer. Test it with the predicates below instead of
 * instanceof.
 *
 * @example
 * ```ts
 * import { isConflict, StatusError } from '@kapstan/api';
 *
 * const error = new StatusError({ status: 'Failure', code: 409, reason: 'Conflict', message: 'the object has been modified' });
 * console.log(isConflict(error)); // true
 * ```
 */
export class StatusError extends Error {
  readonly status: Status;

  constructor(init: StatusErrorInit, options?: { readonly cause?: unknown }) {
    super(init.message, options);
    this.name = 'StatusError';
    Object.defineProperty(this, brand, { value: true });
    this.status = {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: init.metadata ?? {},
      status: init.status ?? 'Failure',
      message: init.message,
      // Go omits an empty reason from the JSON.
      ...(init.reason === '' ? {} : { reason: init.reason }),
      ...(init.details === undefined ? {} : { details: init.details }),
      code: init.code,
    };
  }

  get code(): number {
    return this.status.code;
  }

  get reason(): StatusReason {
    return this.status.reason ?? '';
  }

  get details(): StatusDetails | undefined {
    return this.status.details;
  }
}

/**
 * True for a StatusError of any copy of this package.
 *
 * @example
 * ```ts
 * import { isStatusError } from '@kapstan/api';
 * import { connect } from '@kapstan/client';
 * import { Pod } from '@kapstan/kinds/core/v1';
 *
 * const client = await connect();
 * try {
 *   await client.get(Pod, { name: 'web', namespace: 'default' });
 * } catch (error) {
 *   if (isStatusError(error)) console.error(error.code, error.reason, error.message);
 *   else throw error; // there was no answer, or the call was wrong
 * }
 * ```
 */
export function isStatusError(error: unknown): error is StatusError {
  return typeof error === 'object' && error !== null && brand in error;
}

/** Makes the error for a Status from a server. */
export function statusErrorFrom(status: Partial<Status> & { readonly code?: number }): StatusError {
  return new StatusError({
    code: status.code ?? 500,
    reason: status.reason ?? '',
    message: status.message ?? 'unknown',
    details: status.details,
    metadata: status.metadata,
  });
}

const hasReason =
  (...reasons: readonly StatusReason[]) =>
  (error: unknown): error is StatusError =>
    isStatusError(error) && reasons.includes(error.reason);

/**
 * True for a StatusError with the reason NotFound (404): there is no such object, or the server does not serve its
 * kind.
 */
export const isNotFound: (error: unknown) => error is StatusError = hasReason('NotFound');
/** True for a StatusError with the reason AlreadyExists (409): an object of that name is there. */
export const isAlreadyExists: (error: unknown) => error is StatusError = hasReason('AlreadyExists');
/**
 * True for a StatusError with the reason Conflict (409): the object was changed since it was read. Read it again,
 * then write.
 */
export const isConflict: (error: unknown) => error is StatusError = hasReason('Conflict');
/**
 * True for a StatusError with the reason Invalid (422): fields of the object are wrong; `details.causes` names them.
 */
export const isInvalid: (error: unknown) => error is StatusError = hasReason('Invalid');
/** True for a StatusError with the reason Forbidden (403): the user has no right to it, or admission refused it. */
export const isForbidden: (error: unknown) => error is StatusError = hasReason('Forbidden');
/** True for a StatusError with the reason Unauthorized (401): the credentials were missing or not accepted. */
export const isUnauthorized: (error: unknown) => error is StatusError = hasReason('Unauthorized');
/** True for a StatusError with the reason BadRequest (400): the request makes no sense, and a retry does not help. */
export const isBadRequest: (error: unknown) => error is StatusError = hasReason('BadRequest');
/** True for a StatusError with the reason MethodNotAllowed (405). */
export const isMethodNotSupported: (error: unknown) => error is StatusError = hasReason('MethodNotAllowed');
/**
 * True for a StatusError with the reason Timeout (504): the server gave up, and the call may or may not have had an
 * effect.
 */
export const isTimeout: (error: unknown) => error is StatusError = hasReason('Timeout');
/**
 * True for a StatusError with the reason ServerTimeout (500): the server could not answer in time; a retry may help.
 */
export const isServerTimeout: (error: unknown) => error is StatusError = hasReason('ServerTimeout');
/** True for a StatusError with the reason InternalError (500). */
export const isInternalError: (error: unknown) => error is StatusError = hasReason('InternalError');
/** True for a StatusError with the reason ServiceUnavailable (503). */
export const isServiceUnavailable: (error: unknown) => error is StatusError = hasReason('ServiceUnavailable');
/** True for 410: the requested version was compacted or has left the history (reasons Expired and Gone). */
export const isExpired: (error: unknown) => error is StatusError = hasReason('Expired', 'Gone');

/** True for 429, also from a proxy that gives no reason. */
export function isTooManyRequests(error: unknown): error is StatusError {
  return isStatusError(error) && (error.reason === 'TooManyRequests' || error.code === 429);
}

const resourceVersionTooLargeCause = 'ResourceVersionTooLarge';

/**
 * True when the requested version is in the future. Source: client-go tools/cache/reflector.go
 * (isTooLargeResourceVersionError).
 */
export function isTooLargeResourceVersion(error: unknown): error is StatusError {
  if (!isStatusError(error)) return false;
  const causes = error.details?.causes ?? [];
  if (causes.some((cause) => cause.reason === resourceVersionTooLargeCause)) return true;
  if (error.reason !== 'Timeout' || error.details === undefined) return false;
  const text = 'Too large resource version';
  return causes.some((cause) => cause.message === text) || error.message.includes(text);
}

/** Returns the number of seconds after which the server asks to try again; undefined when it does not ask. */
export function retryAfterSeconds(error: unknown): number | undefined {
  return isStatusError(error) ? error.details?.retryAfterSeconds : undefined;
}

// ---- Constructors, with the texts of apimachinery's api/errors ----

const resourceDetails = (resource: GroupResource, name?: string): StatusDetails => ({
  ...(name ? { name } : {}),
  ...(resource.group === '' ? {} : { group: resource.group }),
  ...(resource.resource === '' ? {} : { kind: resource.resource }),
});

/** Returns the 404 NotFound that kube-apiserver gives for an object that is not there. */
export function notFound(resource: GroupResource, name: string): StatusError {
  return new StatusError({
    code: 404,
    reason: 'NotFound',
    message: `${formatGroupResource(resource)} ${goQuote(name)} not found`,
    details: resourceDetails(resource, withoutEscapedBytes(name)),
  });
}

/** Returns the 409 AlreadyExists that kube-apiserver gives for a create of an object that is there. */
export function alreadyExists(resource: GroupResource, name: string): StatusError {
  return new StatusError({
    code: 409,
    reason: 'AlreadyExists',
    message: `${formatGroupResource(resource)} ${goQuote(name)} already exists`,
    details: resourceDetails(resource, name),
  });
}

/** Returns the 409 Conflict that kube-apiserver gives for a write with an old version; `why` ends its message. */
export function conflict(resource: GroupResource, name: string, why: string): StatusError {
  return new StatusError({
    code: 409,
    reason: 'Conflict',
    message: `Operation cannot be fulfilled on ${formatGroupResource(resource)} ${goQuote(name)}: ${why}`,
    details: resourceDetails(resource, name),
  });
}

/** Returns a 403 Forbidden in kube-apiserver's words; `why` ends its message. An empty name is left out. */
export function forbidden(resource: GroupResource, name: string, why: string): StatusError {
  const what =
    resource.resource === ''
      ? 'forbidden'
      : name === ''
        ? `${formatGroupResource(resource)} is forbidden`
        : `${formatGroupResource(resource)} ${goQuote(name)} is forbidden`;
  return new StatusError({
    code: 403,
    reason: 'Forbidden',
    message: `${what}: ${why}`,
    details: resourceDetails(resource, name),
  });
}

/** Returns a 401 Unauthorized. */
export function unauthorized(message = 'Unauthorized'): StatusError {
  return new StatusError({ code: 401, reason: 'Unauthorized', message });
}

/** Returns a 400 BadRequest with this message. */
export function badRequest(message: string): StatusError {
  return new StatusError({ code: 400, reason: 'BadRequest', message });
}

/** Returns 422 with one cause per field error, and one more that counts the errors beyond the first hundred. */
export function invalid(kind: GroupKind, name: string, errors: readonly FieldError[]): StatusError {
  return invalidTold(kind, name, tellFieldErrors(errors));
}

/** Does what {@link invalid} does, for errors that are already texts. */
export function invalidTold(kind: GroupKind, name: string, { message: text, causes }: ToldErrors): StatusError {
  const shownName = shownText(name);
  return new StatusError({
    code: 422,
    reason: 'Invalid',
    message: `${formatGroupKind(kind)} ${goQuote(shownName)} is invalid${text === '' ? '' : `: ${text}`}`,
    details: {
      ...(name ? { name: shownName } : {}),
      ...(kind.group === '' ? {} : { group: kind.group }),
      // Reviews answer without a kind, because Go omits an empty one.
      ...(kind.kind === '' ? {} : { kind: kind.kind }),
      causes,
    },
  });
}

/** Returns the 405 MethodNotAllowed of a resource that lacks this action, such as "create". */
export function methodNotSupported(resource: GroupResource, action: string): StatusError {
  return new StatusError({
    code: 405,
    reason: 'MethodNotAllowed',
    message: `${action} is not supported on resources of kind "${formatGroupResource(resource)}"`,
    details: resourceDetails(resource),
  });
}

/** Returns 410 for a watch or list whose version is too old. */
export function expired(message: string, continueToken?: string): StatusError {
  return new StatusError({
    code: 410,
    reason: 'Expired',
    message,
    metadata: continueToken === undefined ? undefined : { continue: continueToken },
  });
}

/** Returns 504 for a version in the future. Source: apiserver storage/errors.go (NewTooLargeResourceVersionError). */
export function tooLargeResourceVersion(asked: number | string, current: number, retrySeconds: number): StatusError {
  return new StatusError({
    code: 504,
    reason: 'Timeout',
    message: `Timeout: Too large resource version: ${asked}, current: ${current}`,
    details: {
      causes: [{ reason: resourceVersionTooLargeCause, message: 'Too large resource version' }],
      ...(retrySeconds === 0 ? {} : { retryAfterSeconds: retrySeconds }),
    },
  });
}

/** Returns a 504 Timeout that asks the client to retry after `retrySeconds`. */
export function timeout(message: string, retrySeconds: number): StatusError {
  return new StatusError({
    code: 504,
    reason: 'Timeout',
    message: `Timeout: ${message}`,
    details: retrySeconds === 0 ? {} : { retryAfterSeconds: retrySeconds },
  });
}

/** Returns a 429 TooManyRequests that asks the client to retry after `retrySeconds`. */
export function tooManyRequests(message: string, retrySeconds: number): StatusError {
  return new StatusError({
    code: 429,
    reason: 'TooManyRequests',
    message,
    details: { retryAfterSeconds: retrySeconds },
  });
}

/** Returns 500 with the reason ServerTimeout, as Kubernetes does when its store cannot be reached. */
export function serverTimeout(resource: GroupResource, operation: string, retrySeconds: number): StatusError {
  return new StatusError({
    code: 500,
    reason: 'ServerTimeout',
    message: `The ${operation} operation against ${formatGroupResource(resource)} could not be completed at this time, please try again.`,
    details: { ...resourceDetails(resource, operation), retryAfterSeconds: retrySeconds },
  });
}

/** Returns a 500 InternalError with the cause's message. */
export function internalError(cause: unknown): StatusError {
  const why = messageOf(cause);
  return new StatusError(
    {
      code: 500,
      reason: 'InternalError',
      message: `Internal error occurred: ${why}`,
      details: { causes: [{ message: why }] },
    },
    { cause },
  );
}

/** Returns a 503 ServiceUnavailable with this message. */
export function serviceUnavailable(message: string): StatusError {
  return new StatusError({ code: 503, reason: 'ServiceUnavailable', message });
}

/** Returns a 413 RequestEntityTooLarge; `why` ends its message. */
export function requestEntityTooLarge(why: string): StatusError {
  return new StatusError({
    code: 413,
    reason: 'RequestEntityTooLarge',
    message: `Request entity too large: ${why}`,
  });
}

/** Returns a 406 NotAcceptable: the server can produce none of the media types that the client accepts. */
export function notAcceptable(message: string): StatusError {
  return new StatusError({ code: 406, reason: 'NotAcceptable', message });
}

/** Returns a 415 UnsupportedMediaType: the server cannot read a body of that type. */
export function unsupportedMediaType(message: string): StatusError {
  return new StatusError({ code: 415, reason: 'UnsupportedMediaType', message });
}

/** Returns 501 for a feature that Kapstan does not have: it is refused clearly and never ignored. */
export function notImplemented(message: string): StatusError {
  return new StatusError({ code: 501, reason: 'NotImplemented', message });
}

/** Returns 507 for a full store. */
export function insufficientStorage(message: string): StatusError {
  return new StatusError({ code: 507, reason: 'InsufficientStorage', message });
}
