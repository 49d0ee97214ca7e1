// Describes a webhook's refusal in the words of the Go client library, with which kube-apiserver calls webhooks. Used
// by webhook-pool.ts. Source: client-go rest transformResponse, apimachinery NewGenericServerResponse.
import { parseJson } from '@kapstan/api';
import { goQuote } from '@kapstan/api/internal';

const texts: ReadonlyMap<number, string> = new Map([
  [400, 'the server rejected our request for an unknown reason'],
  [401, 'the server has asked for the client to provide credentials'],
  [404, 'the server could not find the requested resource'],
  [405, 'the server does not allow this method on the requested resource'],
  [409, 'the server reported a conflict'],
  [422, 'the server rejected our request due to an error in our request'],
  [429, 'the server has received too many requests and has asked us to try again later'],
  [503, 'the server is currently unable to handle the request'],
  [504, 'the server was unable to return a response in the time allotted, but may still be processing the request'],
]);
const notAcceptable = 'the server was unable to respond with a content type that the client supports';
const maxTextLength = 2048;

interface Refusal {
  readonly code: number;
  readonly contentType: string;
  readonly body: string;
}

/** Returns the message for an answer whose code is not 2xx. */
export function webhookRefusalText(refusal: Refusal): string {
  const told = statusMessage(refusal.body);
  if (told !== undefined) return told;
  const text = shownBody(refusal);
  const { code } = refusal;
  const known = texts.get(code);
  if (known !== undefined) return known;
  if (code === 403 || code === 415) return text;
  if (code === 406) return text === 'unknown' ? notAcceptable : text;
  if (code >= 500) return `an error on the server (${goQuote(text)}) has prevented the request from succeeding`;
  return `the server responded with the status code ${code} but did not return more information`;
}

/** Returns the message of a body that is a Status. */
function statusMessage(body: string): string | undefined {
  if (!body.trimStart().startsWith('{')) return undefined;
  let value: { readonly kind?: unknown; readonly status?: unknown; readonly message?: unknown };
  try {
    value = parseJson(body) as typeof value;
  } catch (error) {
    // This is probably a proxy's page, so only the code is meaningful.
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
  const isFailure = value.kind === 'Status' && value.status !== 'Success';
  return isFailure && typeof value.message === 'string' ? value.message : undefined;
}

function shownBody({ contentType, body }: Refusal): string {
  const isText = contentType === '' || contentType.startsWith('text/') || contentType.startsWith('application/json');
  const text = isText ? body.trim().slice(0, maxTextLength) : '';
  return text === '' ? 'unknown' : text;
}
