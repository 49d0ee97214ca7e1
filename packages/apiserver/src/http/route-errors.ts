// The refusals of the router: no such path, no such method. They stand before any handler. Source: go-restful's errors
// as apiserver turns them into Status (NewGenericServerResponse).
import { StatusError } from '@kapstan/api';

export function resourceNotFound(): StatusError {
  return new StatusError({
    code: 404,
    reason: 'NotFound',
    message: 'the server could not find the requested resource',
    details: {},
  });
}

export function methodNotAllowed(): StatusError {
  return new StatusError({
    code: 405,
    reason: 'MethodNotAllowed',
    message: 'the server does not allow this method on the requested resource',
    details: {},
  });
}

/** A patch whose Content-Type no route takes. */
export function patchTypeNotSupported(): StatusError {
  return new StatusError({
    code: 415,
    reason: 'UnsupportedMediaType',
    message: '415: Unsupported Media Type',
    details: {},
  });
}
