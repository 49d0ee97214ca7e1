// Reads the AdmissionReview that a webhook answers, with kube-apiserver's errors for malformed ones. Used by
// webhook-caller.ts. Source: plugin/webhook/request VerifyAdmissionResponse, client-go rest.Result.Into.
import {
  type AdmissionResponse,
  formatApiVersion,
  goQuote,
  isJsonObject,
  JsonSyntaxError,
  type SlicedWork,
} from '@kapstan/api/internal';
import { kindRegistry, typeMeta } from '../../schema/decode-object.ts';
import { StrictErrors } from '../../schema/field-validation.ts';
import { jsonKind } from '../../schema/go/go-types.ts';
import { decodeText, readJsonText } from '../../schema/json-reader.ts';
import type { SchemaNode } from '../../schema/node/schema-node.ts';
import { DecodeError, decodeTypedInSlices } from '../../schema/typed-decoder.ts';
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
export function* readAdmissionReview(body: Uint8Array, expected: ExpectedReview): SlicedWork<AdmissionResponse> {
  const review = yield* decodeReview(body, expected);
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

function* decodeReview(body: Uint8Array, expected: ExpectedReview): SlicedWork<Review> {
  const failed = (why: string, cause?: unknown): WebhookCallError =>
    new WebhookCallError(expected.webhook, { why: `failed to call webhook: ${why}`, code: 503, cause });
  try {
    const { value, repeats } = yield* readJsonText(decodeText(body));
    if (value !== null && !isJsonObject(value)) throw failed(noKind(jsonKind(value)));
    const said = value ?? {};
    const wrong = kindFault(said, expected.version);
    if (wrong !== undefined) throw failed(wrong);
    const options = {
      schema: reviewSchemas[expected.version],
      strict: new StrictErrors(),
      repeats,
      words: 'json',
    } as const;
    return ((yield* decodeTypedInSlices(value, options)) ?? {}) as Review;
  } catch (error) {
    if (error instanceof JsonSyntaxError) throw failed(syntaxFault(body, error), error);
    if (error instanceof DecodeError) throw failed(error.message, error);
    throw error;
  }
}

/** Returns Kubernetes' text of the error. Kubernetes reads a body that does not begin with "{" as YAML, where plain text is a string. */
function syntaxFault(body: Uint8Array, { message }: JsonSyntaxError): string {
  const isObject = decodeText(body).trimStart().startsWith('{');
  return isObject ? `${unreadKind}${message}` : noKind('string');
}

const unreadKind = "couldn't get version/kind; json parse error: ";

function noKind(found: string): string {
  return `${unreadKind}json: cannot unmarshal ${found} into Go value of type ${typeMeta}`;
}

/** Returns the fault of the kind that an answer names. An answer without a kind is accepted as the expected one. */
function kindFault(said: Readonly<Record<string, unknown>>, version: ReviewVersion): string | undefined {
  const { kind = '', apiVersion = '' } = said;
  if (typeof kind !== 'string' || typeof apiVersion !== 'string') return undefined;
  const named = { kind: kind || 'AdmissionReview', apiVersion: apiVersion || `${reviewGroup}/${version}` };
  if (named.apiVersion === 'v1' && named.kind === 'Status') return unconverted('v1.Status', version);
  const known = ['v1', 'v1beta1'].find((candidate) => named.apiVersion === `${reviewGroup}/${candidate}`);
  if (known === undefined || named.kind !== 'AdmissionReview') {
    return `no kind ${goQuote(named.kind)} is registered for version ${goQuote(named.apiVersion)} ${kindRegistry}`;
  }
  if (known === version) return undefined;
  return unconverted(`${known}.AdmissionReview`, version);
}

function unconverted(type: string, version: ReviewVersion): string {
  return `converting (${type}) to (${version}.AdmissionReview): unknown conversion`;
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
