// Sends requests to one cluster: credentials, retries, deadlines, warnings. Under client.ts, over the connection pool.
import diagnostics_channel from 'node:diagnostics_channel';
import { delay, type GroupResource, type StatusError } from '@kapstan/api';
import type { Dispatcher } from 'undici';
import type { ResolvedClientOptions } from '../client-config.ts';
import type { Credentials, RequestHeaders } from '../credentials/credentials.ts';
import { CallScope } from './call-scope.ts';
import type { ConnectionPool } from './connection-pool.ts';
import type { RateLimiter } from './rate-limiter.ts';
import { statusErrorOf } from './status-response.ts';
import { isTransportError, TransportError, transportErrorFrom } from './transport-error.ts';
import { parseWarnings, type WarningHandler } from './warnings.ts';

export type HttpMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

export interface HttpRequest {
  readonly method: HttpMethod;
  /** Path and query below the server's base path: "/api/v1/pods?limit=1". Already encoded. */
  readonly path: string;
  /** Default "application/json". */
  readonly accept?: string;
  readonly contentType?: string;
  readonly body?: string | undefined;
  /** What is asked for; stands in errors that the server did not word. */
  readonly resource?: GroupResource | undefined;
  readonly name?: string | undefined;
}

/** A successful answer whose body has not been read. */
export interface HttpAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly body: Dispatcher.ResponseData['body'];
  /** For messages: "GET https://host/path". */
  readonly request: string;
}

export interface CallLimits {
  readonly signal?: AbortSignal | undefined;
  /** 0 = no limit. */
  readonly timeoutMs: number;
}

/** An open stream: whoever got it closes the scope. */
export interface OpenStream {
  readonly answer: HttpAnswer;
  readonly scope: CallScope;
}

/** What is published on the diagnostics channel "kapstan:client:request", once an attempt. */
export interface RequestDiagnostics {
  readonly method: HttpMethod;
  /** Without the query. */
  readonly path: string;
  /** Absent when there was no answer. */
  readonly status?: number;
  readonly error?: unknown;
  /** 0 for the first attempt. */
  readonly attempt: number;
  /** From the request to the answer's headers, in milliseconds. */
  readonly durationMs: number;
}

export interface TransportPorts {
  readonly server: URL;
  readonly pool: ConnectionPool;
  readonly credentials: Credentials;
  readonly headers: RequestHeaders;
  readonly limiter: RateLimiter | undefined;
  readonly onWarning: WarningHandler;
  readonly options: ResolvedClientOptions;
}

/** State of one call across its attempts. */
interface Attempts {
  readonly request: HttpRequest;
  readonly signal: AbortSignal;
  readonly label: string;
  /** Streams are not retried when their connection breaks: who watches decides, with its own backoff. */
  readonly isStream: boolean;
  count: number;
  hasRefreshed: boolean;
}

type Outcome =
  | { readonly type: 'answer'; readonly answer: HttpAnswer }
  | { readonly type: 'retry'; readonly error: Error; readonly afterMs: number }
  | { readonly type: 'failure'; readonly error: Error };

const channel = diagnostics_channel.channel('kapstan:client:request');
// A broken connection counts as Retry-After: 1. Source: spec/client.md §8.5.
const brokenRetryMs = 1000;

export class Transport {
  readonly #ports: TransportPorts;
  readonly #basePath: string;

  constructor(ports: TransportPorts) {
    this.#ports = ports;
    this.#basePath = ports.server.pathname.replace(/\/+$/, '');
  }

  /** Loads certificates and credentials, so that a wrong configuration shows before the first call. */
  async prepare(): Promise<void> {
    await this.#credentialHeaders();
    await this.#ports.pool.forCall();
  }

  /** One call with an answer of finite length; the deadline covers retries and `read`. */
  async call<R>(request: HttpRequest, limits: CallLimits, read: (answer: HttpAnswer) => Promise<R>): Promise<R> {
    const scope = this.#scope(request, limits);
    try {
      const answer = await this.#send(request, scope, 'call');
      return await read(answer);
    } catch (error) {
      throw scope.signal.aborted ? abortReason(scope.signal, error) : error;
    } finally {
      scope.close();
    }
  }

  /** Opens an endless answer. The deadline ends with the headers; `scope.abort()` ends the stream. */
  async open(request: HttpRequest, limits: CallLimits): Promise<OpenStream> {
    const scope = this.#scope(request, limits);
    try {
      const answer = await this.#send(request, scope, 'stream');
      scope.stopDeadline();
      return { answer, scope };
    } catch (error) {
      scope.close();
      throw scope.signal.aborted ? abortReason(scope.signal, error) : error;
    }
  }

  async close(): Promise<void> {
    await this.#ports.pool.close();
  }

  #scope(request: HttpRequest, limits: CallLimits): CallScope {
    const { signal, timeoutMs } = limits;
    return new CallScope({ clock: this.#ports.options.clock, signal, timeoutMs, request: this.#label(request) });
  }

  #label(request: HttpRequest): string {
    return `${request.method} ${this.#ports.server.origin}${this.#basePath}${pathOnly(request)}`;
  }

  async #send(request: HttpRequest, { signal }: CallScope, mode: 'call' | 'stream'): Promise<HttpAnswer> {
    const { limiter, options } = this.#ports;
    const isStream = mode === 'stream';
    const attempts: Attempts = {
      request,
      signal,
      label: this.#label(request),
      isStream,
      count: 0,
      hasRefreshed: false,
    };
    let previous: Error | undefined;
    for (; ; attempts.count++) {
      // The first attempt of a watch passes the limiter by. Source: spec/client.md §8.5.
      if (!isStream || attempts.count > 0) await rejectWithPrevious(limiter?.acquire(signal), previous);
      const outcome = await this.#attempt(attempts);
      if (outcome.type === 'answer') return outcome.answer;
      const isLast = outcome.type === 'failure' || attempts.count >= options.maxRetries;
      if (isLast) throw withPrevious(outcome.error, previous);
      previous = outcome.error;
      await rejectWithPrevious(delay(options.clock, outcome.afterMs, signal), previous);
    }
  }

  async #attempt(attempts: Attempts): Promise<Outcome> {
    const { pool } = this.#ports;
    attempts.signal.throwIfAborted();
    const credentialHeaders = await this.#credentialHeaders();
    if (!attempts.isStream) return await this.#exchange(attempts, await pool.forCall(), credentialHeaders);
    const dispatcher = await pool.forStream();
    let outcome: Outcome | undefined;
    try {
      outcome = await this.#exchange(attempts, dispatcher, credentialHeaders);
      return outcome;
    } finally {
      const release = (): void => pool.release(dispatcher);
      if (outcome?.type === 'answer') outcome.answer.body.once('close', release);
      else release();
    }
  }

  async #exchange(attempts: Attempts, dispatcher: Dispatcher, credentialHeaders: RequestHeaders): Promise<Outcome> {
    const { request, signal, label } = attempts;
    const startedAtMs = this.#ports.options.clock.monotonicNow();
    let response: Dispatcher.ResponseData;
    try {
      const sent = dispatcher.request({
        origin: this.#ports.server.origin,
        path: `${this.#basePath}${request.path}`,
        method: request.method,
        headers: this.#headers(request, credentialHeaders),
        body: request.body ?? null,
        signal,
      });
      response = await untilAborted(sent, signal);
    } catch (error) {
      this.#publish(attempts, startedAtMs, { error });
      if (signal.aborted) throw error;
      return brokenOutcome(attempts, transportErrorFrom(error, label));
    }
    this.#publish(attempts, startedAtMs, { status: response.statusCode });
    for (const text of parseWarnings(response.headers.warning)) this.#ports.onWarning(text);
    return this.#judge(attempts, response, credentialHeaders);
  }

  async #judge(attempts: Attempts, response: Dispatcher.ResponseData, used: RequestHeaders): Promise<Outcome> {
    const { statusCode, headers, body } = response;
    const contentType = String(headers['content-type'] ?? '');
    const isSuccess = attempts.isStream ? statusCode === 200 : statusCode >= 200 && statusCode <= 206;
    if (isSuccess)
      return { type: 'answer', answer: { status: statusCode, contentType, body, request: attempts.label } };
    const retryAfterSeconds = retryAfter(headers['retry-after']);
    const error = await this.#failure(attempts, response, retryAfterSeconds);
    if (statusCode === 401 && !attempts.hasRefreshed) {
      attempts.hasRefreshed = true;
      if (await this.#ports.credentials.onUnauthorized?.(used)) return { type: 'retry', error, afterMs: 0 };
    }
    const isRetryable = (statusCode === 429 || statusCode >= 500) && retryAfterSeconds !== undefined;
    if (!isRetryable) return { type: 'failure', error };
    return { type: 'retry', error, afterMs: retryAfterSeconds * 1000 };
  }

  async #failure(
    attempts: Attempts,
    { statusCode, headers, body }: Dispatcher.ResponseData,
    retryAfterSeconds: number | undefined,
  ): Promise<StatusError> {
    let text: string;
    try {
      text = await body.text();
    } catch (error) {
      attempts.signal.throwIfAborted();
      throw transportErrorFrom(error, attempts.label);
    }
    const { method, resource, name } = attempts.request;
    const contentType = String(headers['content-type'] ?? '');
    return statusErrorOf({ code: statusCode, method, contentType, body: text, retryAfterSeconds, resource, name });
  }

  async #credentialHeaders(): Promise<RequestHeaders> {
    try {
      return await this.#ports.credentials.headers();
    } catch (error) {
      throw new Error(`getting credentials: ${error instanceof Error ? error.message : String(error)}`, {
        cause: error,
      });
    }
  }

  #headers(request: HttpRequest, credentialHeaders: RequestHeaders): Record<string, string | string[]> {
    return {
      accept: request.accept ?? 'application/json',
      ...(request.body === undefined ? {} : { 'content-type': request.contentType ?? 'application/json' }),
      ...this.#ports.headers,
      ...credentialHeaders,
    } as Record<string, string | string[]>;
  }

  #publish(attempts: Attempts, startedAtMs: number, result: { readonly status?: number; readonly error?: unknown }) {
    if (!channel.hasSubscribers) return;
    const message: RequestDiagnostics = {
      method: attempts.request.method,
      path: pathOnly(attempts.request),
      attempt: attempts.count,
      durationMs: this.#ports.options.clock.monotonicNow() - startedAtMs,
      ...result,
    };
    channel.publish(message);
  }
}

/** Bytes of an answer's body; a broken connection is a {@link TransportError}. */
export async function* bodyChunks({ body, request }: HttpAnswer): AsyncGenerator<Buffer, void, undefined> {
  try {
    for await (const chunk of body) yield chunk as Buffer;
  } catch (error) {
    throw transportErrorFrom(error, request);
  }
}

export async function bodyText({ body, request }: HttpAnswer): Promise<string> {
  try {
    return await body.text();
  } catch (error) {
    throw transportErrorFrom(error, request);
  }
}

function pathOnly({ path }: HttpRequest): string {
  const query = path.indexOf('?');
  return query === -1 ? path : path.slice(0, query);
}

// Whole seconds only; HTTP dates are ignored. Source: spec/client.md §8.5.
function retryAfter(header: string | string[] | undefined): number | undefined {
  return typeof header === 'string' && /^\d{1,9}$/.test(header) ? Number(header) : undefined;
}

function brokenOutcome({ request, isStream }: Attempts, error: TransportError): Outcome {
  const isBroken = error.code === 'ECONNRESET' || error.code === 'EPIPE';
  const isRetryable = isBroken && request.method === 'GET' && !isStream;
  return isRetryable ? { type: 'retry', error, afterMs: brokenRetryMs } : { type: 'failure', error };
}

// undici heeds the signal of a request only once its connection stands, which a silent peer can keep from happening.
function untilAborted<R>(work: Promise<R>, signal: AbortSignal): Promise<R> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    const stop = (): void => signal.removeEventListener('abort', onAbort);
    work.finally(stop).then(resolve, reject);
  });
}

// The caller's own reason as it is; a deadline says what the attempts before it ran into.
function abortReason(signal: AbortSignal, error: unknown): unknown {
  const reason: unknown = signal.reason;
  const previous = error instanceof RetryInterrupted ? error.previous : undefined;
  return isTransportError(reason) ? withPrevious(reason, previous) : reason;
}

/** The call was aborted while it waited for its next attempt. Never leaves this file: {@link abortReason}. */

class RetryInterrupted extends Error {
  readonly previous: Error | undefined;

  constructor(previous: Error | undefined, options: ErrorOptions) {
    super('interrupted before the next attempt', options);
    this.previous = previous;
  }
}

async function rejectWithPrevious(step: Promise<void> | undefined, previous: Error | undefined): Promise<void> {
  try {
    await step;
  } catch (error) {
    throw new RetryInterrupted(previous, { cause: error });
  }
}

function withPrevious(error: Error, previous: Error | undefined): Error {
  if (previous === undefined || !isTransportError(error) || previous.message === error.message) return error;
  const message = `${error.message.slice(error.request.length + 2)} - error from a previous attempt: ${previous.message}`;
  return new TransportError({ code: error.code, request: error.request, message, cause: previous });
}
