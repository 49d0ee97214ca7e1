// Turns an unsuccessful answer into a StatusError: the server's own Status, or one made from the code.
import { type GroupResource, parseJson, type Status, StatusError, type StatusReason } from '@kapstan/api';
import { statusErrorFrom } from '@kapstan/api/errors';
import { formatGroupResource } from '@kapstan/api/internal';

export interface FailedAnswer {
  readonly code: number;
  readonly method: string;
  readonly contentType: string;
  readonly body: string;
  readonly retryAfterSeconds: number | undefined;
  /** The requested resource, for the message of a Status made here. */
  readonly resource?: GroupResource | undefined;
  readonly name?: string | undefined;
}

const maxTextLength = 2048;

/** Source: client-go rest/request.go transformResponse and apimachinery NewGenericServerResponse. */
export function statusErrorOf(answer: FailedAnswer): StatusError {
  const status = parseStatus(answer.body);
  if (status !== undefined) return statusErrorFrom({ ...status, code: status.code || answer.code });
  const text = plainText(answer);
  const [reason, message] = genericReason(answer, text);
  const { resource, name, retryAfterSeconds } = answer;
  return new StatusError({
    code: answer.code,
    reason,
    message: `${message}${target(answer)}`,
    details: {
      ...(name ? { name } : {}),
      ...(resource?.group ? { group: resource.group } : {}),
      ...(resource ? { kind: resource.resource } : {}),
      causes: [{ reason: 'UnexpectedServerResponse', message: text }],
      ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
    },
  });
}

function parseStatus(body: string): Partial<Status> | undefined {
  if (!body.trimStart().startsWith('{')) return undefined;
  let value: unknown;
  try {
    value = parseJson(body);
  } catch (error) {
    // Probably a page of some proxy: the caller makes a Status from the code.
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
  const status = value as Partial<Status>;
  return status.kind === 'Status' && status.status !== 'Success' ? status : undefined;
}

function plainText({ body, contentType }: FailedAnswer): string {
  const isText = contentType === '' || contentType.startsWith('text/') || contentType.startsWith('application/json');
  const text = isText ? body.trim().slice(0, maxTextLength) : '';
  return text === '' ? 'unknown' : text;
}

function target({ method, resource, name }: FailedAnswer): string {
  if (resource === undefined) return '';
  return ` (${method.toLowerCase()} ${formatGroupResource(resource)}${name ? ` ${name}` : ''})`;
}

const generic: ReadonlyMap<number, readonly [StatusReason, string]> = new Map([
  [400, ['BadRequest', 'the server rejected our request for an unknown reason']],
  [401, ['Unauthorized', 'the server has asked for the client to provide credentials']],
  [404, ['NotFound', 'the server could not find the requested resource']],
  [405, ['MethodNotAllowed', 'the server does not allow this method on the requested resource']],
  [422, ['Invalid', 'the server rejected our request due to an error in our request']],
  [429, ['TooManyRequests', 'the server has received too many requests and has asked us to try again later']],
  [503, ['ServiceUnavailable', 'the server is currently unable to handle the request']],
  [
    504,
    [
      'Timeout',
      'the server was unable to return a response in the time allotted, but may still be processing the request',
    ],
  ],
]);
const notAcceptable = 'the server was unable to respond with a content type that the client supports';

function genericReason({ code, method }: FailedAnswer, text: string): readonly [StatusReason, string] {
  const known = generic.get(code);
  if (known !== undefined) return known;
  switch (code) {
    case 403:
      return ['Forbidden', text];
    case 406:
      return ['NotAcceptable', text === 'unknown' ? notAcceptable : text];
    case 409:
      return [method === 'POST' ? 'AlreadyExists' : 'Conflict', 'the server reported a conflict'];
    case 415:
      return ['UnsupportedMediaType', text];
    default:
      break;
  }
  if (code < 500) return ['', `the server responded with the status code ${code} but did not return more information`];
  const why = `an error on the server (${JSON.stringify(text)}) has prevented the request from succeeding`;
  return ['InternalError', why];
}
