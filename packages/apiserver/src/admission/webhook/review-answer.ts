// Reads the AdmissionReview that a webhook answers, with kube-apiserver's errors for malformed ones. Used by
// webhook-caller.ts. Source: plugin/webhook/request VerifyAdmissionResponse.
import { type AdmissionResponse, formatApiVersion, goQuote, type SlicedWork } from '@kapstan/api/internal';
import { StrictErrors } from '../../schema/field-validation.ts';
import type { SchemaNode } from '../../schema/node/schema-node.ts';
import { DecodeError, decodeTypedInSlices } from '../../schema/typed-decoder.ts';
import { type ReviewAnswer, readReviewDocument } from '../../webhook/review-document.ts';
import { type ReviewVersion, reviewGroup } from './admission-review.ts';
import { WebhookCallError } from './webhook-failure.ts';

export interface ExpectedReview {
  readonly version: ReviewVersion;
  readonly uid: string;
  readonly isMutating: boolean;
  readonly webhook: string;
}

const text: SchemaNode = { type: 'string' };
const integer: SchemaNode = { type: 'integer', format: 'int32' };
const uid: SchemaNode = { type: 'string', goType: 'types.UID' };
const texts: SchemaNode = { type: 'object', additionalProperties: text };

function struct(goType: string, members: Readonly<Record<string, SchemaNode>>): SchemaNode {
  return { type: 'object', goType, properties: new Map(Object.entries(members)) };
}

const status: SchemaNode = struct('v1.Status', {
  status: text,
  message: text,
  reason: text,
  code: integer,
  metadata: struct('v1.ListMeta', {
    selfLink: text,
    resourceVersion: text,
    continue: text,
    remainingItemCount: { type: 'integer', format: 'int64' },
  }),
  details: struct('v1.StatusDetails', {
    name: text,
    group: text,
    kind: text,
    uid,
    causes: {
      type: 'array',
      items: struct('v1.StatusCause', { reason: text, message: text, field: text }),
    },
    retryAfterSeconds: integer,
  }),
});

const reviewSchemas: Readonly<Record<ReviewVersion, SchemaNode>> = { v1: schemaOf('v1'), v1beta1: schemaOf('v1beta1') };

function schemaOf(version: ReviewVersion): SchemaNode {
  const response = struct(`${version}.AdmissionResponse`, {
    uid,
    allowed: { type: 'boolean' },
    status,
    patch: { type: 'string', format: 'byte' },
    patchType: text,
    auditAnnotations: texts,
    warnings: { type: 'array', items: text },
  });
  return struct(`${version}.AdmissionReview`, { kind: text, apiVersion: text, response });
}

/** Returns the response. Throws WebhookCallError for everything that kube-apiserver takes for a failed call. */
export function* readAdmissionReview(answer: ReviewAnswer, expected: ExpectedReview): SlicedWork<AdmissionResponse> {
  const review = yield* decodeReview(answer, expected);
  const fault = faultOf(review, expected);
  const response = review.response as AdmissionResponse;
  // The older version has one type of patch, whatever the answer calls it.
  if (fault === undefined) return expected.version === 'v1' ? response : { ...response, patchType: 'JSONPatch' };
  const why = `received invalid webhook response: ${fault}`;
  throw new WebhookCallError(expected.webhook, { why, code: 503 });
}

interface Review {
  readonly kind?: string;
  readonly apiVersion?: string;
  readonly response?: AdmissionResponse;
}

function* decodeReview(answer: ReviewAnswer, { version, webhook }: ExpectedReview): SlicedWork<Review> {
  try {
    const kind = { group: reviewGroup, version, kind: 'AdmissionReview' };
    const { value, repeats } = yield* readReviewDocument(answer, kind);
    const options = { schema: reviewSchemas[version], strict: new StrictErrors(), repeats, words: 'json' } as const;
    return ((yield* decodeTypedInSlices(value, options)) ?? {}) as Review;
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    throw new WebhookCallError(webhook, { why: `failed to call webhook: ${error.message}`, code: 503, cause: error });
  }
}

function faultOf(review: Review, { version, uid, isMutating }: ExpectedReview): string | undefined {
  const { response } = review;
  if (response === undefined) return 'webhook response was absent';
  // The older version required none of this.
  if (version === 'v1beta1') return undefined;
  if (response.uid !== uid) return `expected response.uid=${goQuote(uid)}, got ${goQuote(response.uid ?? '')}`;
  const wanted = `${formatApiVersion({ group: reviewGroup, version })}, Kind=AdmissionReview`;
  const got = `${review.apiVersion || '/'}, Kind=${review.kind ?? ''}`;
  if (got !== wanted) return `expected webhook response of ${wanted}, got ${got}`;
  return isMutating ? patchFault(response) : unwantedPatch(response);
}

function patchFault({ patch = '', patchType }: AdmissionResponse): string | undefined {
  if (patch !== '' && patchType === undefined) return 'webhook returned response.patch but not response.patchType';
  if (patch === '' && patchType !== undefined) return 'webhook returned response.patchType but not response.patch';
  return patchType === '' ? 'webhook returned invalid response.patchType of ""' : undefined;
}

function unwantedPatch({ patch = '', patchType }: AdmissionResponse): string | undefined {
  if (patch !== '') return 'validating webhook may not return response.patch';
  return patchType === undefined ? undefined : 'validating webhook may not return response.patchType';
}
