// ConversionReview: the request to a conversion webhook, and the checks of its answer. Used by webhook-converter.ts.
// Source: apiextensions-apiserver conversion createConversionReviewObjects, getConvertedObjectsFromResponse.
import { goQuote, isJsonObject, parseApiVersion } from '@kapstan/api/internal';
import type { ConversionCall } from './converter.ts';

const group = 'apiextensions.k8s.io';

/** Review versions that this server supports; the definition decides which is preferred. */
export const knownReviewVersions: readonly string[] = ['v1', 'v1beta1'];

export interface ReviewRequest {
  /** Either "v1" or "v1beta1". */
  readonly version: string;
  readonly uid: string;
}

export function conversionReview({ version, uid }: ReviewRequest, call: ConversionCall): object {
  const { objects, desiredApiVersion: desiredAPIVersion } = call;
  return {
    kind: 'ConversionReview',
    apiVersion: `${group}/${version}`,
    request: { uid, desiredAPIVersion, objects },
    response: { uid: '', convertedObjects: null, result: { metadata: {} } },
  };
}

/** Returns the converted objects, unchecked. Throws SyntaxError with the reason when there are none. */
export function convertedObjectsOf(review: unknown, request: ReviewRequest): readonly unknown[] {
  if (!isJsonObject(review)) throw new SyntaxError(`couldn't get version/kind; json parse error: no object`);
  requireReview(review);
  if (request.version === 'v1') requireVersion(review);
  const { response } = review;
  if (!isJsonObject(response)) throw new SyntaxError('no response provided');
  if (request.version === 'v1' && response.uid !== request.uid) {
    throw new SyntaxError(`expected response.uid=${goQuote(request.uid)}, got ${goQuote(textOf(response.uid))}`);
  }
  const result = isJsonObject(response.result) ? response.result : {};
  if (result.status !== 'Success') {
    const why = textOf(result.message);
    throw new SyntaxError(why === '' ? `response.result.status was '${textOf(result.status)}', not 'Success'` : why);
  }
  return Array.isArray(response.convertedObjects) ? response.convertedObjects : [];
}

/** Throws for an answer that is not a review. */
function requireReview({ apiVersion, kind }: Record<string, unknown>): void {
  if (textOf(kind) === '') throw new SyntaxError(`Object 'Kind' is missing in the answer of the webhook`);
  if (textOf(apiVersion) === '') throw new SyntaxError(`Object 'apiVersion' is missing in the answer of the webhook`);
  const version = parseApiVersion(textOf(apiVersion));
  const isKnown =
    version?.group === group && knownReviewVersions.includes(version.version) && kind === 'ConversionReview';
  if (!isKnown)
    throw new SyntaxError(`no kind ${goQuote(textOf(kind))} is registered for version ${goQuote(textOf(apiVersion))}`);
}

function requireVersion({ apiVersion, kind }: Record<string, unknown>): void {
  if (apiVersion === `${group}/v1`) return;
  const expected = `${group}/v1, Kind=ConversionReview`;
  throw new SyntaxError(`expected webhook response of ${expected}, got ${textOf(apiVersion)}, Kind=${textOf(kind)}`);
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
