// reviewWebhook asks a webhook about permissions as kube-apiserver does: with a SubjectAccessReview of version v1 or
// v1beta1. Source: apiserver plugin/pkg/authorizer/webhook (subjectAccessReviewV1ClientGW,
// subjectAccessReviewV1beta1ClientGW).
import { stringifyJson } from '@kapstan/api';
import type { SlicedWork } from '@kapstan/api/internal';
import type { ReviewSpec, ReviewStatus, WebhookPool, WebhookTarget } from '@kapstan/apiserver';
import {
  decodeTypedInSlices,
  fileSchema,
  readReviewDocument,
  type SchemaNode,
  StrictErrors,
  structSchema,
  textSchema,
  WebhookError,
  type WebhookPoolAnswer,
} from '@kapstan/apiserver/internal';
import { runInTurns } from '@kapstan/storage';

/** Options of a webhook that is called with reviews. */
export interface ReviewWebhookOptions {
  readonly pool: WebhookPool;
  readonly target: WebhookTarget;
  readonly version: 'v1' | 'v1beta1';
  readonly timeoutMs: number;
}

const group = 'authorization.k8s.io';
const kind = 'SubjectAccessReview';
/** A webhook may send the whole review back. */
const maxAnswerBytes = 1024 * 1024;
const timeoutText = 'net/http: request canceled (Client.Timeout exceeded while awaiting headers)';
const flag: SchemaNode = { type: 'boolean' };

function schemaOf(version: string): SchemaNode {
  return fileSchema(`${version}.${kind}`, {
    metadata: { preserveUnknownFields: true },
    spec: { preserveUnknownFields: true },
    status: structSchema(`${version}.SubjectAccessReviewStatus`, {
      allowed: flag,
      denied: flag,
      reason: textSchema,
      evaluationError: textSchema,
    }),
  });
}

/** Returns the function that asks the webhook once. */
export function reviewWebhook(options: ReviewWebhookOptions): (spec: ReviewSpec) => Promise<ReviewStatus> {
  const { pool, target, version, timeoutMs } = options;
  const schema = schemaOf(version);
  return async (spec) => {
    const review = {
      kind,
      apiVersion: `${group}/${version}`,
      metadata: {},
      spec: version === 'v1' ? spec : oldSpec(spec),
      status: { allowed: false },
    };
    const body = Buffer.from(stringifyJson(review));
    const answer = await pool.ask(target, { body, timeoutSeconds: timeoutMs / 1000, maxAnswerBytes, timeoutText });
    try {
      return await runInTurns(readStatus(answer, { version, schema }));
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      throw new WebhookError(error.message, { cause: error, reason: 'refused' });
    }
  };
}

/** The old version has the groups under another name. */
function oldSpec({ groups, ...spec }: ReviewSpec): object {
  return { ...spec, group: groups };
}

interface ExpectedReview {
  readonly version: string;
  readonly schema: SchemaNode;
}

function* readStatus(answer: WebhookPoolAnswer, { version, schema }: ExpectedReview): SlicedWork<ReviewStatus> {
  const { value, repeats } = yield* readReviewDocument(answer, { group, version, kind });
  const typed = { schema, strict: new StrictErrors(), repeats, words: 'json' } as const;
  const decoded = (yield* decodeTypedInSlices(value, typed)) as { status?: Partial<ReviewStatus> } | undefined;
  const { allowed = false, denied = false, reason = '' } = decoded?.status ?? {};
  return { allowed, denied, reason };
}
