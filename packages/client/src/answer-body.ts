// Reads the bodies of answers as objects and lists; one that cannot be read is a TransportError with the code EBADMSG.

import type { Resource, ResourceVersion } from '@kapstan/api';
import { apiVersionOf, type DeepReadonly, type KubernetesObject, type ListResult, parseJson } from '@kapstan/api';
import { ListDecoder } from './list-decoder.ts';
import type { HttpAnswer } from './transport/http-request.ts';
import { bodyChunks, bodyText } from './transport/transport.ts';
import { TransportError } from './transport/transport-error.ts';

export async function readObject<T extends object>(answer: HttpAnswer): Promise<T> {
  const text = await bodyText(answer);
  if (text === '')
    throw undecodable(
      answer,
      `0-length response with status code: ${answer.status} and content type: ${answer.contentType}`,
    );
  const object = decode(answer, () => parseJson(text));
  if (typeof object === 'object' && object !== null && !Array.isArray(object)) return object as T;
  throw undecodable(answer, 'the answer is not an object');
}

/** Reads a list. `parse` reads one item, see {@link ListDecoderOptions}. */
export async function readList<T extends KubernetesObject>(
  answer: HttpAnswer,
  resource: Resource<T>,
  parse: (text: string) => unknown = parseJson,
): Promise<ListResult<T>> {
  const decoder = new ListDecoder<T>({ apiVersion: apiVersionOf(resource), kind: resource.kind, parse });
  for await (const chunk of bodyChunks(answer)) decode(answer, () => decoder.push(chunk));
  const { metadata, items } = decode(answer, () => decoder.end());
  return {
    resourceVersion: (metadata.resourceVersion ?? '') as ResourceVersion,
    ...(metadata.continue ? { continue: metadata.continue } : {}),
    ...(metadata.remainingItemCount === undefined ? {} : { remainingItemCount: metadata.remainingItemCount }),
    items: items as DeepReadonly<T>[],
  };
}

function decode<R>(answer: HttpAnswer, step: () => R): R {
  try {
    return step();
  } catch (error) {
    if (error instanceof SyntaxError) throw undecodable(answer, `cannot decode the answer: ${error.message}`, error);
    throw error;
  }
}

function undecodable({ request }: HttpAnswer, message: string, cause?: unknown): TransportError {
  return new TransportError({ code: 'EBADMSG', message, request, cause });
}
