// WebhookCaller asks one webhook about a request: RemoteCaller over HTTPS, the callers of admission-functions.ts in
// this process. Used by mutating-webhooks.ts and webhook-run.ts.
import { randomUUID } from 'node:crypto';
import { tooManyRequests } from '@kapstan/api/errors';
import { type AdmissionResponse, type CallSignal, goQuote, stringifyInSlices } from '@kapstan/api/internal';
import { runInTurns } from '@kapstan/storage';
import type { Span } from '../../tracing/span.ts';
import { WebhookError, type WebhookPool, type WebhookPoolAnswer } from '../../webhook/webhook-pool.ts';
import type { WebhookTarget } from '../../webhook/webhook-target.ts';
import type { Invocation } from '../matching/invocation.ts';
import { admissionRequest, type ReviewVersion, reviewGroup } from './admission-review.ts';
import { readAdmissionReview } from './review-answer.ts';
import { WebhookCallError } from './webhook-failure.ts';

export interface WebhookQuestion {
  readonly webhook: string;
  readonly configuration: string;
  readonly invocation: Invocation;
  readonly isMutating: boolean;
  readonly signal: CallSignal | undefined;
}

/** `object`: the changed object, from functions, which may change it themselves. */
export interface AdmissionReviewAnswer {
  readonly response: AdmissionResponse;
  readonly object?: unknown;
}

export interface WebhookCaller {
  /** Rejects with WebhookCallError when there is no usable answer, and with the signal's reason. */
  ask(question: WebhookQuestion): Promise<AdmissionReviewAnswer>;
}

/** Retry interval for clients when a webhook has too many calls. */
const busyRetrySeconds = 1;

/** Maximum number of bytes of an answer: a patch that replaces the largest object takes less, in base64. */
const maxAnswerBytes = 8 * 1024 * 1024;

/** The text of Go's client when the time of the request, not of the client, is limited. */
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

  async ask(question: WebhookQuestion): Promise<AdmissionReviewAnswer> {
    const version = this.#version;
    if (version === undefined) {
      const why =
        'could not create admission objects: webhook does not accept known AdmissionReview versions (v1, v1beta1)';
      throw new WebhookCallError(question.webhook, { why, code: 400 });
    }
    const uid = randomUUID();
    const span = startSpan(question, uid);
    try {
      return await this.#ask({ ...question, uid, version, span });
    } finally {
      span?.end();
    }
  }

  async #ask(call: ReviewCall): Promise<AdmissionReviewAnswer> {
    const { webhook, invocation, isMutating, signal, uid, version, span } = call;
    const review = {
      kind: 'AdmissionReview',
      apiVersion: `${reviewGroup}/${version}`,
      request: admissionRequest(invocation, uid),
    };
    const text = await runInTurns(stringifyInSlices(review), signal);
    const answer = await this.#post(call, Buffer.from(text, 'utf8'));
    span?.addEvent('Request completed');
    const response = await runInTurns(readAdmissionReview(answer, { version, uid, isMutating, webhook }), signal);
    return { response };
  }

  async #post({ webhook, invocation, signal, span }: ReviewCall, body: Buffer): Promise<WebhookPoolAnswer> {
    const { pool, target, timeoutSeconds } = this.#options;
    const part = span?.startPart('HTTP POST', { 'http.request.method': 'POST' }, 'client');
    const trace = { traceParent: part?.traceParent, baggage: invocation.attributes.context.baggage };
    try {
      const answer = await pool.ask(target, { body, timeoutSeconds, maxAnswerBytes, timeoutText, signal, ...trace });
      part?.addAttributes({ 'http.response.status_code': answer.code });
      return answer;
    } catch (error) {
      part?.fail();
      if (!(error instanceof WebhookError)) throw error;
      // A client that floods a webhook must not get past it if its failures are ignored.
      if (error.reason === 'busy') throw tooManyRequests(busyText(webhook, error), busyRetrySeconds);
      const { message, code = 503 } = error;
      throw new WebhookCallError(webhook, { why: `failed to call webhook: ${message}`, code, cause: error });
    } finally {
      part?.end();
    }
  }
}

interface ReviewCall extends WebhookQuestion {
  readonly uid: string;
  readonly version: ReviewVersion;
  readonly span: Span | undefined;
}

/** Source: plugin/webhook/{mutating,validating}/dispatcher.go. */
function startSpan({ webhook, configuration, invocation, isMutating }: WebhookQuestion, uid: string): Span | undefined {
  const { attributes, resource } = invocation;
  return attributes.context.span?.startPart(isMutating ? 'Call mutating webhook' : 'Call validating webhook', {
    configuration,
    webhook,
    resource: `${resource.group}/${resource.version}, Resource=${resource.resource}`,
    subresource: attributes.subresource ?? '',
    operation: attributes.operation,
    UID: uid,
  });
}

function busyText(webhook: string, { message }: WebhookError): string {
  return `failed calling webhook ${goQuote(webhook)}: failed to call webhook: ${message}`;
}
