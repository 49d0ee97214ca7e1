// WebhookCaller asks one webhook about a request: RemoteCaller over HTTPS; the callers of
// admission-functions.ts in this process. Used by
// mutating-webhooks.ts and validating-webhooks.ts.
import { randomUUID } from 'node:crypto';
import { type CallSignal, stringifyInSlices } from '@kapstan/api/internal';
import { runInTurns } from '@kapstan/storage';
import { WebhookError, type WebhookPool } from '../../webhook/webhook-pool.ts';
import type { WebhookTarget } from '../../webhook/webhook-target.ts';
import type { Invocation } from '../matching/invocation.ts';
import { type AdmissionResponse, admissionRequest, type ReviewVersion, reviewGroup } from './admission-review.ts';
import { readReview } from './review-answer.ts';
import { WebhookCallError } from './webhook-failure.ts';

export interface WebhookQuestion {
  readonly webhook: string;
  readonly invocation: Invocation;
  readonly isMutating: boolean;
  readonly signal: CallSignal | undefined;
}

/** `object`: the changed object, from functions, which may change it themselves. */
export interface WebhookAnswer {
  readonly response: AdmissionResponse;
  readonly object?: unknown;
}

export interface WebhookCaller {
  /** Rejects with WebhookCallError when there is no usable answer, and with the signal's reason. */
  ask(question: WebhookQuestion): Promise<WebhookAnswer>;
}

/** Most bytes of an answer: a patch that replaces the largest object takes less, in base64. */
const maxAnswerBytes = 8 * 1024 * 1024;

/** The text of Go's client where the time of the request is limited, not that of the client. */
const timeoutText = 'context deadline exceeded';

const reviewVersions: readonly ReviewVersion[] = ['v1', 'v1beta1'];

export interface RemoteCallerOptions {
  readonly pool: WebhookPool;
  readonly target: WebhookTarget;
  readonly timeoutSeconds: number;
  /** Versions of the review that the webhook knows, the best first. */
  readonly reviewVersions: readonly string[];
}

export class RemoteCaller implements WebhookCaller {
  readonly #options: RemoteCallerOptions;
  readonly #version: ReviewVersion | undefined;

  constructor(options: RemoteCallerOptions) {
    this.#options = options;
    this.#version = options.reviewVersions.find((version): version is ReviewVersion =>
      (reviewVersions as readonly string[]).includes(version),
    );
  }

  async ask({ webhook, invocation, isMutating, signal }: WebhookQuestion): Promise<WebhookAnswer> {
    const version = this.#version;
    if (version === undefined) {
      const why =
        'could not create admission objects: webhook does not accept known AdmissionReview versions (v1, v1beta1)';
      throw new WebhookCallError(webhook, { why, code: 400 });
    }
    const uid = randomUUID();
    const review = {
      kind: 'AdmissionReview',
      apiVersion: `${reviewGroup}/${version}`,
      request: admissionRequest(invocation, uid),
    };
    const text = await runInTurns(stringifyInSlices(review), signal);
    const body = await this.#post(webhook, Buffer.from(text, 'utf8'), signal);
    const response = await runInTurns(readReview(body, { version, uid, isMutating, webhook }), signal);
    return { response };
  }

  async #post(webhook: string, body: Buffer, signal: CallSignal | undefined): Promise<Uint8Array> {
    const { pool, target, timeoutSeconds } = this.#options;
    try {
      const answer = await pool.ask(target, { body, timeoutSeconds, maxAnswerBytes, timeoutText, signal });
      const fault = answerFault(answer);
      if (fault === undefined) return answer.body;
      throw new WebhookError(fault, { reason: 'refused' });
    } catch (error) {
      if (!(error instanceof WebhookError)) throw error;
      const { message, code = 503 } = error;
      throw new WebhookCallError(webhook, { why: `failed to call webhook: ${message}`, code, cause: error });
    }
  }
}

interface Answered {
  readonly body: Uint8Array;
  readonly contentType: string;
  readonly code: number;
}

/** The type of an answer does not matter. Source: client-go rest.Result.Into. */
function answerFault({ body, contentType, code }: Answered): string | undefined {
  if (body.length > 0) return undefined;
  return `0-length response with status code: ${code} and content type: ${contentType}`;
}
