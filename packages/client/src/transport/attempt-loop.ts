// One call as a sequence of attempts: credentials, rate limit, Retry-After, one refresh after a 401, warnings, diagnostics. The Exchange
// decides whether an attempt is sent as a call, a stream or an upgrade (transport.ts).
import diagnostics_channel from 'node:diagnostics_channel';
import { type Clock, delay, type Logger, type StatusError } from '@kapstan/api';
import type { CallSpan } from '@kapstan/api/internal';
import type { Credentials, RequestHeaders } from '../credentials/credentials.ts';
import { callUser } from '../guards/user-callback.ts';
import { type HttpRequest, pathOnly } from './http-request.ts';
import type { RateLimiter } from './rate-limiter.ts';
import type { RequestDiagnostics } from './request-diagnostics.ts';
import { statusErrorOf } from './status-response.ts';
import { isTransportError, TransportError, transportErrorFrom } from './transport-error.ts';
import { parseWarnings, type WarningHandler } from './warnings.ts';

/** The head of an answer. Without `answer` the caller must read `text` once, which frees the connection. */
export interface AttemptResponse<A> {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Present only for a success. */
  readonly answer?: A;
  text(): Promise<string>;
}

/** Calls `beforeSend` once the connection is open, right before the request is written; when that throws, nothing is written. */
export type Attempt<A> = (credentialHeaders: RequestHeaders, beforeSend: () => void) => Promise<AttemptResponse<A>>;

export interface Exchange<A> {
  readonly request: HttpRequest;
  readonly signal: AbortSignal;
  /** Name of the request for messages: "GET https://host/path". */
  readonly label: string;
  /** Streams are not retried when their connection breaks, because the watcher decides, with its own backoff. */
  readonly isStream: boolean;
  readonly beforeAttempt?: (() => void) | undefined;
  /** Undefined where nothing is traced. */
  readonly span?: CallSpan | undefined;
  /** Finds the connection of the next attempt. Its rejection is passed on unchanged. */
  prepare(): Promise<Attempt<A>>;
}

/** The options of a client that concern its attempts; see ClientOptions. */
interface AttemptOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly maxRetries: number;
  readonly onRequest?: (request: RequestDiagnostics) => void;
}

export interface AttemptPorts {
  readonly server: URL;
  readonly credentials: Credentials;
  readonly limiter: RateLimiter | undefined;
  readonly onWarning: WarningHandler;
  /** Called with the status of each answer. */
  readonly onAnswer: (status: number) => void;
  readonly options: AttemptOptions;
}

/** State of one call across its attempts. */
interface Progress<A> {
  readonly exchange: Exchange<A>;
  count: number;
  rateLimitedMs: number;
  hasRefreshed: boolean;
}

type Outcome<A> =
  | { readonly type: 'answer'; readonly answer: A }
  | { readonly type: 'retry'; readonly error: Error; readonly afterMs: number }
  | { readonly type: 'refreshed'; readonly error: Error }
  | { readonly type: 'failure'; readonly error: Error };

const channel = diagnostics_channel.channel('kapstan:client:request');
// A broken connection counts as Retry-After: 1. Source: client-go rest/with_retry.go (IsNextRetry).
const brokenRetryMs = 1000;

export class AttemptLoop {
  readonly #ports: AttemptPorts;

  constructor(ports: AttemptPorts) {
    this.#ports = ports;
  }

  async run<A>(exchange: Exchange<A>): Promise<A> {
    const { options } = this.#ports;
    const progress: Progress<A> = { exchange, count: 0, rateLimitedMs: 0, hasRefreshed: false };
    let previous: Error | undefined;
    let retries = 0;
    for (; ; progress.count++) {
      await rejectWithPrevious(this.#passLimiter(progress), previous);
      const outcome = await this.#attempt(progress);
      if (outcome.type === 'answer') return outcome.answer;
      // New credentials are fetched only once and do not count as a retry.
      const isLast = outcome.type === 'failure' || (outcome.type === 'retry' && retries++ >= options.maxRetries);
      if (isLast) throw withPrevious(outcome.error, previous);
      previous = outcome.error;
      if (outcome.type === 'retry' && outcome.afterMs > 0)
        await rejectWithPrevious(delay(options.clock, outcome.afterMs, exchange.signal), previous);
    }
  }

  async credentialHeaders(): Promise<RequestHeaders> {
    try {
      return await this.#ports.credentials.headers();
    } catch (error) {
      throw new Error(`getting credentials: ${error instanceof Error ? error.message : String(error)}`, {
        cause: error,
      });
    }
  }

  // The first attempt of a watch skips the limiter. Source: client-go rest/request.go (Watch).
  async #passLimiter<A>(progress: Progress<A>): Promise<void> {
    const { limiter, options } = this.#ports;
    progress.rateLimitedMs = 0;
    if (limiter === undefined || (progress.exchange.isStream && progress.count === 0)) return;
    const startedAtMs = options.clock.monotonicNow();
    await limiter.acquire(progress.exchange.signal);
    progress.rateLimitedMs = options.clock.monotonicNow() - startedAtMs;
  }

  async #attempt<A>(progress: Progress<A>): Promise<Outcome<A>> {
    const { exchange } = progress;
    exchange.signal.throwIfAborted();
    // Credentials and certificates may come from a command or a server that never answers.
    const headers = await untilAborted(this.credentialHeaders(), exchange.signal);
    const attempt = await untilAborted(exchange.prepare(), exchange.signal);
    let refusal: Refusal | undefined;
    const beforeSend = (): void => {
      try {
        exchange.beforeAttempt?.();
      } catch (error) {
        refusal = new Refusal(error);
        throw refusal;
      }
    };
    const { span } = exchange;
    const sent = span === undefined ? headers : { ...headers, ...span.attempt() };
    const startedAtMs = this.#ports.options.clock.monotonicNow();
    let response: AttemptResponse<A>;
    try {
      response = await untilAborted(attempt(sent, beforeSend), exchange.signal);
    } catch (error) {
      if (refusal !== undefined) throw refusal.cause;
      this.#publish(progress, startedAtMs, { error });
      span?.failed(error);
      if (exchange.signal.aborted) throw error;
      return brokenOutcome(exchange, transportErrorFrom(error, exchange.label));
    }
    this.#publish(progress, startedAtMs, { status: response.status });
    span?.answered(response.status);
    this.#ports.onAnswer(response.status);
    for (const text of parseWarnings(response.headers.warning))
      callUser(this.#ports.options.logger, 'onWarning', () => this.#ports.onWarning(text));
    if (response.answer !== undefined) return { type: 'answer', answer: response.answer };
    return await this.#judge(progress, response, headers);
  }

  async #judge<A>(progress: Progress<A>, response: AttemptResponse<A>, used: RequestHeaders): Promise<Outcome<A>> {
    const retryAfterSeconds = retryAfter(response.headers['retry-after']);
    const error = await failure(progress.exchange, response, retryAfterSeconds);
    if (response.status === 401 && !progress.hasRefreshed) {
      progress.hasRefreshed = true;
      const isRefreshed = Promise.resolve(this.#ports.credentials.onUnauthorized?.(used));
      if (await untilAborted(isRefreshed, progress.exchange.signal)) return { type: 'refreshed', error };
    }
    const isRetryable = (response.status === 429 || response.status >= 500) && retryAfterSeconds !== undefined;
    if (!isRetryable) return { type: 'failure', error };
    return { type: 'retry', error, afterMs: retryAfterSeconds * 1000 };
  }

  #publish<A>(
    { exchange, count, rateLimitedMs }: Progress<A>,
    startedAtMs: number,
    result: { readonly status?: number; readonly error?: unknown },
  ): void {
    const { options, server } = this.#ports;
    if (!channel.hasSubscribers && options.onRequest === undefined) return;
    const message: RequestDiagnostics = {
      method: exchange.request.method,
      host: server.host,
      path: pathOnly(exchange.request),
      attempt: count,
      durationMs: options.clock.monotonicNow() - startedAtMs,
      rateLimitedMs,
      ...result,
    };
    channel.publish(message);
    callUser(options.logger, 'onRequest', () => options.onRequest?.(message));
  }
}

/** Wraps an error of beforeAttempt while it passes through undici. */
class Refusal extends Error {
  constructor(cause: unknown) {
    super('refused before it was sent', { cause });
  }
}

async function failure<A>(
  { request, label, signal }: Exchange<A>,
  response: AttemptResponse<A>,
  retryAfterSeconds: number | undefined,
): Promise<StatusError> {
  let body: string;
  try {
    body = await response.text();
  } catch (error) {
    signal.throwIfAborted();
    throw transportErrorFrom(error, label);
  }
  const { method, resource, name } = request;
  const contentType = String(response.headers['content-type'] ?? '');
  return statusErrorOf({ code: response.status, method, contentType, body, retryAfterSeconds, resource, name });
}

// Accepts whole seconds only; HTTP dates are ignored. Source: client-go rest/with_retry.go (retryAfterSeconds).
function retryAfter(header: string | string[] | undefined): number | undefined {
  return typeof header === 'string' && /^\d{1,9}$/.test(header) ? Number(header) : undefined;
}

function brokenOutcome<A>({ request, isStream }: Exchange<A>, error: TransportError): Outcome<A> {
  const isBroken = error.code === 'ECONNRESET' || error.code === 'EPIPE';
  const isRetryable = isBroken && request.method === 'GET' && !isStream;
  return isRetryable ? { type: 'retry', error, afterMs: brokenRetryMs } : { type: 'failure', error };
}

/**
 * Returns the result of the work, or rejects with the signal's reason if that comes first. undici checks the signal of a request only once
 * its connection is open, which a silent peer can prevent.
 */
export function untilAborted<R>(work: Promise<R>, signal: AbortSignal): Promise<R> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    const stop = (): void => signal.removeEventListener('abort', onAbort);
    work.finally(stop).then(resolve, reject);
  });
}

/** Returns the caller's own reason unchanged; a deadline also reports the error of earlier attempts. */
export function abortReason(signal: AbortSignal, error: unknown): unknown {
  const reason: unknown = signal.reason;
  const previous = error instanceof RetryInterrupted ? error.previous : undefined;
  return isTransportError(reason) ? withPrevious(reason, previous) : reason;
}

/** The call was aborted while it waited for its next attempt. Never leaves the transport, see {@link abortReason}. */
class RetryInterrupted extends Error {
  readonly previous: Error | undefined;

  constructor(previous: Error | undefined, options: ErrorOptions) {
    super('interrupted before the next attempt', options);
    this.previous = previous;
  }
}

async function rejectWithPrevious(step: Promise<void>, previous: Error | undefined): Promise<void> {
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
