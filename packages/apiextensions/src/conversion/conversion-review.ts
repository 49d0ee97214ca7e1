// ConversionReview: the request to a conversion webhook, and the checks of its answer. Used by webhook-converter.ts.
// Source: apiextensions-apiserver conversion createConversionReviewObjects, getConvertedObjectsFromResponse.
import { goQuote, isJsonObject, type SlicedWork } from '@kapstan/api/internal';
import { readReviewDocument, type WebhookPoolAnswer } from '@kapstan/apiserver/internal';
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

/** Returns the review that a webhook answers, not decoded. Throws DecodeError for everything that kube-apiserver cannot read. */
export function* readConversionReview(
  answer: WebhookPoolAnswer,
  { version }: ReviewRequest,
): SlicedWork<Record<string, unknown>> {
  const { value } = yield* readReviewDocument(answer, { group, version, kind: 'ConversionReview' });
  return isJsonObject(value) ? value : {};
}

/** Returns the converted objects, unchecked. Throws SyntaxError with the reason when there are none. */
export function convertedObjectsOf(review: Record<string, unknown>, request: ReviewRequest): readonly unknown[] {
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

function requireVersion({ apiVersion, kind }: Record<string, unknown>): void {
  const wanted = `${group}/v1, Kind=ConversionReview`;
  const got = `${textOf(apiVersion) || '/'}, Kind=${textOf(kind)}`;
  if (got !== wanted) throw new SyntaxError(`expected webhook response of ${wanted}, got ${got}`);
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
