// Turns a peer's refusal into an answer of this server. Used by tunnel-bytes.ts. Source: apiserver
// registry/generic/rest (GenericHttpResponseChecker), apimachinery pkg/api/errors (NewGenericServerResponse).
import { StatusError, type StatusReason } from '@kapstan/api';
import { badRequest, internalError } from '@kapstan/api/errors';

/** The requested object, as errors name it. */
export interface AskedObject {
  /** For example "pods/log". */
  readonly resource: string;
  readonly name: string;
}

interface Meaning {
  readonly reason: StatusReason | '';
  /** Absent = the peer's own text. */
  readonly message?: string;
}

const meanings: ReadonlyMap<number, Meaning> = new Map<number, Meaning>([
  [401, { reason: 'Unauthorized', message: 'the server has asked for the client to provide credentials' }],
  [403, { reason: 'Forbidden' }],
  [404, { reason: 'NotFound', message: 'the server could not find the requested resource' }],
  [405, { reason: 'MethodNotAllowed', message: 'the server does not allow this method on the requested resource' }],
  [406, { reason: 'NotAcceptable' }],
  [409, { reason: 'Conflict', message: 'the server reported a conflict' }],
  [415, { reason: 'UnsupportedMediaType' }],
  [422, { reason: 'Invalid', message: 'the server rejected our request due to an error in our request' }],
  [
    429,
    {
      reason: 'TooManyRequests',
      message: 'the server has received too many requests and has asked us to try again later',
    },
  ],
  [503, { reason: 'ServiceUnavailable', message: 'the server is currently unable to handle the request' }],
  [
    504,
    {
      reason: 'Timeout',
      message:
        'the server was unable to return a response in the time allotted, but may still be processing the request',
    },
  ],
]);

/** Returns the answer for a peer's refusal; `text` is the start of its body. */
export function peerRefusal(code: number, text: string, { resource, name }: AskedObject): StatusError {
  if (code === 500) return internalError(new Error(text));
  if (code === 400) return badRequest(text);
  const { reason, message = text } = meanings.get(code) ?? otherMeaning(code, text);
  return new StatusError({
    code,
    reason,
    // kube-apiserver would show a verb after the bracket, but there is none.
    message: `${message} ( ${resource} ${name})`,
    details: { name, kind: resource },
  });
}

function otherMeaning(code: number, text: string): Meaning {
  if (code < 500) {
    const message = `the server responded with the status code ${code} but did not return more information`;
    return { reason: '', message };
  }
  const message = `an error on the server (${JSON.stringify(text)}) has prevented the request from succeeding`;
  return { reason: 'InternalError', message };
}
