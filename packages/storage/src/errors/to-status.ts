// Turns storage errors into the API's answers, one row per verb, as registry/rest and storage/errors of the Go library
// do.
import type { GroupResource } from '@kapstan/api';
import {
  alreadyExists,
  badRequest,
  conflict,
  insufficientStorage,
  internalError,
  invalid,
  notFound,
  requestEntityTooLarge,
  serverTimeout,
  serviceUnavailable,
} from '@kapstan/api/errors';
import { isStorageError, type StorageError, type StorageErrorCode } from './storage-error.ts';

/** The operation on an object during which an error occurred. */
export type StorageVerb = 'get' | 'list' | 'create' | 'update' | 'delete' | 'watch';

export interface ToStatusContext {
  readonly verb: StorageVerb;
  readonly resource: GroupResource;
  /** "" for a list or watch. */
  readonly name: string;
}

type Answer = (error: StorageError, context: ToStatusContext) => Error;

const retrySeconds = 2;
const conflictError: Answer = (error, { resource, name }) => conflict(resource, name, error.message);
const notFoundError: Answer = (_error, { resource, name }) => notFound(resource, name);
const serverTimeoutError: Answer = (_error, { resource, verb }) => serverTimeout(resource, verb, retrySeconds);

const writes: Partial<Record<StorageErrorCode, Answer>> = {
  KeyNotFound: notFoundError,
  KeyExists: conflictError,
  Conflict: conflictError,
  InvalidObject: conflictError,
  Unreachable: serverTimeoutError,
};

const rows: Readonly<Record<StorageVerb, Partial<Record<StorageErrorCode, Answer>>>> = {
  get: { KeyNotFound: notFoundError, Unreachable: serverTimeoutError },
  list: {
    KeyNotFound: (_error, { resource }) => notFound(resource, ''),
    Unreachable: serverTimeoutError,
    Timeout: serverTimeoutError,
  },
  create: {
    KeyExists: (_error, { resource, name }) => alreadyExists(resource, name),
    Unreachable: serverTimeoutError,
  },
  update: writes,
  delete: writes,
  watch: {
    InvalidObject: (error, { resource, name }) =>
      invalid({ group: resource.group, kind: resource.resource }, name, [
        { type: 'FieldValueInvalid', field: '', detail: error.detail },
      ]),
  },
};

/**
 * Answers that do not depend on the verb. TooLarge deliberately differs from kube-apiserver. There it is a 500 without
 * a reason that says "etcdserver: request is too large" or, above 2 MiB, "rpc error: code = ResourceExhausted desc =
 * trying to send message larger than max (2662615 vs. 2097152)". That reads as a fault of the server, but it is the
 * client's object that has to shrink.
 */
const anyVerb: Partial<Record<StorageErrorCode, Answer>> = {
  TooLarge: (error) => requestEntityTooLarge(error.detail || error.message),
  Full: (error) => insufficientStorage(error.detail || error.message),
  NotReady: (error) => serviceUnavailable(error.detail || error.message),
  Closed: (error) => serviceUnavailable(error.detail || error.message),
  InvalidKey: (error) => badRequest(`an object of this name cannot be stored: ${error.detail}`),
};

/** Returns the StatusError for a storage failure. Any error that is not a StorageError is returned unchanged. */
export function toStatus(error: unknown, context: ToStatusContext): unknown {
  if (!isStorageError(error)) return error;
  const answer = rows[context.verb][error.code] ?? anyVerb[error.code];
  return answer === undefined ? internalError(withoutKey(error)) : answer(error, context);
}

/** Removes the key: clients should not see where objects are stored, and a key may be of any length. */
function withoutKey({ message, key, cause }: StorageError): Error {
  const text = key === '' ? message : message.replace(`Key: ${key}, `, '');
  return new Error(text, { cause });
}
