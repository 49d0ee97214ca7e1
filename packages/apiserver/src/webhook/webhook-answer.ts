// Says whether a webhook refuses, in the words of the Go client library, with which kube-apiserver calls webhooks. Used
// by webhook-pool.ts. Source: client-go rest transformResponse, apimachinery NewGenericServerResponse.
import { goQuote, isJsonObject, JsonSyntaxError, type SlicedWork } from '@kapstan/api/internal';
import { mediaTypeFault } from '../schema/formats/media-type-syntax.ts';
import { YamlSyntaxError } from '../schema/yaml-reader.ts';
import { readWebhookDocument } from './webhook-document.ts';

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
const maxTextBytes = 2048;

interface Answer {
  readonly code: number;
  readonly contentType: string;
  readonly body: Uint8Array;
}

/**
 * Returns the message for an answer that is an error: its code is not one of 200 to 206, or its Content-Type is not one. undefined = it is an
 * answer.
 */
export function* webhookRefusalText(answer: Answer): SlicedWork<string | undefined> {
  const { code, contentType } = answer;
  const fault = contentType === '' ? undefined : mediaTypeFault(contentType);
  if (fault !== undefined) return `Internal error occurred: ${fault}`;
  if (code >= 200 && code <= 206) return undefined;
  return (yield* statusMessage(answer.body)) ?? textOf(answer);
}

function textOf(answer: Answer): string {
  const { code } = answer;
  const known = texts.get(code);
  if (known !== undefined) return known;
  const text = shownBody(answer);
  if (code === 403 || code === 415) return text;
  if (code === 406) return text === 'unknown' || text === '' ? notAcceptable : text;
  if (code >= 500) return `an error on the server (${goQuote(text)}) has prevented the request from succeeding`;
  return `the server responded with the status code ${code} but did not return more information`;
}

/** Returns the message of a body that is a Status. */
function* statusMessage(body: Uint8Array): SlicedWork<string | undefined> {
  let value: unknown;
  try {
    ({ value } = yield* readWebhookDocument(body));
  } catch (error) {
    // This is probably a proxy's page, so only the code is meaningful.
    if (error instanceof JsonSyntaxError || error instanceof YamlSyntaxError) return undefined;
    throw error;
  }
  if (!isJsonObject(value)) return undefined;
  const { kind, status, message = '' } = value;
  const isFailure = kind === 'Status' && status === 'Failure';
  return isFailure && typeof message === 'string' ? message : undefined;
}

function shownBody({ contentType, body }: Answer): string {
  const isText = contentType === '' || contentType.trimStart().toLowerCase().startsWith('text/');
  return isText ? Buffer.from(body.subarray(0, maxTextBytes)).toString('utf8').trim() : 'unknown';
}
