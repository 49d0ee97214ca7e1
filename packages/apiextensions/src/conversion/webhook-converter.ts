// WebhookConverter asks the webhook of a definition to convert objects, all of one call in one review.
// Source: apiextensions-apiserver conversion webhookConverter.

import { type DeepReadonly, stringifyJson } from '@kapstan/api';
import { type SlicedWork, stringifyInSlices } from '@kapstan/api/internal';
import type { WebhookPool, WebhookTarget } from '@kapstan/apiserver';
import {
  DecodeError,
  GoValueError,
  makeNumbersPlainInSlices,
  WebhookError,
  type WebhookPoolAnswer,
  webhookTarget,
} from '@kapstan/apiserver/internal';
import type { WebhookConversion } from '@kapstan/kinds/apiextensions.k8s.io/v1';
import { runInTurns } from '@kapstan/storage';
import {
  conversionReview,
  convertedObjectsOf,
  knownReviewVersions,
  type ReviewRequest,
  readConversionReview,
} from './conversion-review.ts';
import { type ConversionCall, ConversionFailure, type Converter } from './converter.ts';

/** Time for every conversion, as in kube-apiserver. */
const timeoutSeconds = 30;
/** Maximum number of bytes of an answer. A call has at most a megabyte of stored objects, or a single larger one. */
const maxAnswerBytes = 16 * 1024 * 1024;

export interface WebhookConverterOptions {
  /** Name of the definition, for traces. */
  readonly name: string;
  readonly webhook: DeepReadonly<WebhookConversion>;
  readonly pool: WebhookPool;
  readonly newUid: () => string;
}

export class WebhookConverter implements Converter {
  readonly title = 'conversion webhook for';
  readonly #name: string;
  readonly #target: WebhookTarget;
  readonly #version: string | undefined;
  readonly #pool: WebhookPool;
  readonly #newUid: () => string;

  constructor({ name, webhook, pool, newUid }: WebhookConverterOptions) {
    this.#name = name;
    this.#target = webhookTarget(webhook.clientConfig ?? {});
    this.#version = webhook.conversionReviewVersions.find((version) => knownReviewVersions.includes(version));
    this.#pool = pool;
    this.#newUid = newUid;
  }

  async convert(call: ConversionCall): Promise<readonly unknown[]> {
    if (this.#version === undefined) throw failure('no supported conversion review versions');
    const request: ReviewRequest = { version: this.#version, uid: this.#newUid() };
    const span = call.span?.startPart('Call conversion webhook', {
      'custom-resource-definition': this.#name,
      'desired-api-version': call.desiredApiVersion,
      'object-count': call.objects.length,
      UID: request.uid,
    });
    try {
      const answer = await this.#ask(request, { ...call, span });
      span?.addEvent('Request completed');
      return await converted(answer, request);
    } finally {
      span?.end();
    }
  }

  async #ask(request: ReviewRequest, call: ConversionCall): Promise<WebhookPoolAnswer> {
    const review = conversionReview(request, call);
    const text = call.objects.length === 1 ? stringifyJson(review) : await runInTurns(stringifyInSlices(review));
    const { signal, baggage } = call;
    const post = call.span?.startPart('HTTP POST', { 'http.request.method': 'POST' }, 'client');
    try {
      const body = Buffer.from(text, 'utf8');
      const limits = { timeoutSeconds, maxAnswerBytes, signal };
      const trace = { traceParent: post?.traceParent, baggage };
      return await this.#pool.ask(this.#target, { body, ...limits, ...trace });
    } catch (error) {
      post?.fail();
      if (!(error instanceof WebhookError)) throw error;
      throw failure(error.message, error);
    } finally {
      post?.end();
    }
  }
}

async function converted(answer: WebhookPoolAnswer, request: ReviewRequest): Promise<readonly unknown[]> {
  try {
    const objects = convertedObjectsOf(await runInTurns(readConversionReview(answer, request)), request);
    return await runInTurns(withPlainNumbers(objects));
  } catch (error) {
    if (error instanceof DecodeError) throw failure(error.message, error);
    if (!(error instanceof SyntaxError)) throw error;
    throw failure(error.message, error, 'conversion_webhook_malformed_response_failure');
  }
}

/** The objects are read like any custom resource, so that 1.0 is 1. */
function* withPlainNumbers(objects: readonly unknown[]): SlicedWork<readonly unknown[]> {
  const plain: unknown[] = [];
  for (const [index, object] of objects.entries()) {
    try {
      plain.push(yield* makeNumbersPlainInSlices(object));
    } catch (error) {
      if (!(error instanceof GoValueError)) throw error;
      throw new ConversionFailure(`returned invalid converted object at index ${index}: ${error.message}`, {
        type: 'conversion_webhook_invalid_converted_object_failure',
        cause: error,
      });
    }
  }
  return plain;
}

function failure(
  why: string,
  cause?: unknown,
  type: ConversionFailure['type'] = 'conversion_webhook_call_failure',
): ConversionFailure {
  return new ConversionFailure(`failed: ${why}`, { type, cause });
}
