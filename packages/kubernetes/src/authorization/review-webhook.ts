// reviewWebhook asks a webhook about permissions as kube-apiserver does: with a SubjectAccessReview of version v1 or
// v1beta1. Source: apiserver plugin/pkg/authorizer/webhook (subjectAccessReviewV1ClientGW,
// subjectAccessReviewV1beta1ClientGW).
import { stringifyJson } from '@kapstan/api';
import { formatApiVersion, type SlicedWork } from '@kapstan/api/internal';
import type { ReviewSpec, ReviewStatus, WebhookPool, WebhookTarget } from '@kapstan/apiserver';
import {
  DecodeError,
  decodeTypedInSlices,
  fileSchema,
  interpretKind,
  kindRegistry,
  readDocumentInSlices,
  type SchemaNode,
  StrictErrors,
  structSchema,
  textSchema,
  typeMeta,
  WebhookError,
} from '@kapstan/apiserver/internal';
import { runInTurns } from '@kapstan/storage';

/** Options of a webhook that is called with reviews. */
export interface ReviewWebhookOptions {
  readonly pool: WebhookPool;
  readonly target: WebhookTarget;
  readonly version: 'v1' | 'v1beta1';
  readonly timeoutMs: number;
}

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
  const apiVersion = `authorization.k8s.io/${version}`;
  const schema = schemaOf(version);
  return async (spec) => {
    const review = {
      kind,
      apiVersion,
      metadata: {},
      spec: version === 'v1' ? spec : oldSpec(spec),
      status: { allowed: false },
    };
    const body = Buffer.from(stringifyJson(review));
    const answer = await pool.post(target, { body, timeoutSeconds: timeoutMs / 1000, maxAnswerBytes, timeoutText });
    try {
      return await runInTurns(readStatus(answer.toString('utf8'), { apiVersion, schema }));
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
  readonly apiVersion: string;
  readonly schema: SchemaNode;
}

function* readStatus(text: string, { apiVersion, schema }: ExpectedReview): SlicedWork<ReviewStatus> {
  if (text === '') throw new DecodeError('0-length response with status code: 200 and content type: application/json');
  const strict = new StrictErrors();
  const { value, repeats } = yield* readAnswer(text, strict);
  const [group = '', version = ''] = apiVersion.split('/');
  const said = interpretKind(value, { group, version, kind });
  const saidVersion = formatApiVersion(said);
  if (said.kind !== kind || saidVersion !== apiVersion)
    throw new DecodeError(`no kind "${said.kind}" is registered for version "${saidVersion}" ${kindRegistry}`);
  const decoded = yield* decodeTypedInSlices(value, { schema, strict, repeats, words: 'json' });
  const { allowed = false, denied = false, reason = '' } = (decoded as { status?: Partial<ReviewStatus> }).status ?? {};
  return { allowed, denied, reason };
}

/** Webhooks answer with JSON. YAML, which kube-apiserver would also read, is refused like plain text. */
function* readAnswer(text: string, strict: StrictErrors): ReturnType<typeof readDocumentInSlices> {
  try {
    return yield* readDocumentInSlices(text, { mediaType: 'application/json' }, strict);
  } catch (error) {
    if (!(error instanceof DecodeError) || text.trimStart().startsWith('{')) throw error;
    const what = `json: cannot unmarshal string into Go value of type ${typeMeta}`;
    throw new DecodeError(`couldn't get version/kind; json parse error: ${what}`, { cause: error });
  }
}
