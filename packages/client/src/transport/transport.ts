// Sends requests to one cluster: calls, streams and upgrades over the connection pool, each a sequence of attempts
// (attempt-loop.ts) within a deadline. Under client.ts.
import { isStatusError } from '@kapstan/api';
import type { CallSpan, CallTracer } from '@kapstan/api/internal';
import type { RequestHeaders } from '../credentials/credentials.ts';
import {
  type Attempt,
  AttemptLoop,
  type AttemptPorts,
  abortReason,
  type Exchange,
  untilAborted,
} from './attempt-loop.ts';
import { CallScope } from './call-scope.ts';
import { startCallSpan } from './call-tracing.ts';
import { withCallerStack } from './caller-stack.ts';
import { withDecodedBody } from './content-encoding.ts';
import { type CallLimits, type HttpAnswer, type HttpRequest, pathOnly } from './http-request.ts';
import type { PoolLease } from './pool-lease.ts';
import { Reachability } from './reachability.ts';
import type { ReceivedAnswer, Sender, SentRequest } from './sender.ts';
import { transportErrorFrom } from './transport-error.ts';
import { handshake, type OpenWebSocket } from './web-socket-handshake.ts';

/** An open stream; the receiver must close the scope. */
export interface OpenStream {
  readonly answer: HttpAnswer;
  readonly scope: CallScope;
}

export interface TransportPorts extends Omit<AttemptPorts, 'onAnswer'> {
  readonly pool: PoolLease;
  readonly headers: RequestHeaders;
  /** Makes spans of calls whose options name no tracer. */
  readonly tracer: CallTracer | undefined;
  /** True if calls request answers in gzip. Streams never do, because each of their events must arrive at once. */
  readonly asksForGzip: boolean;
}

/** Timeout for probing a server that is away, in milliseconds. */
const probeTimeoutMs = 5000;

export class Transport {
  readonly #ports: TransportPorts;
  /** Notifies when the server answers again. */
  readonly reachability: Reachability;
  readonly #attempts: AttemptLoop;
  readonly #basePath: string;
  /** Calls, streams, and upgrades in progress. */
  readonly #running = new Set<CallScope>();
  #isClosed = false;

  constructor(ports: TransportPorts) {
    this.#ports = ports;
    const probe = (): Promise<string> =>
      this.call({ method: 'GET', path: '/version' }, { signal: undefined, timeoutMs: probeTimeoutMs }, bodyText);
    this.reachability = new Reachability({ clock: ports.options.clock, probe });
    this.#attempts = new AttemptLoop({ ...ports, onAnswer: (status) => this.reachability.noteStatus(status) });
    this.#basePath = ports.server.pathname.replace(/\/+$/, '');
  }

  /** Loads certificates and credentials, so that a wrong configuration shows before the first call. */
  async prepare(limits: CallLimits): Promise<void> {
    await this.wait('credentials', limits, async (signal) => {
      await this.#attempts.credentialHeaders();
      if (!signal.aborted) await this.#ports.pool.forCall();
    });
  }

  /** Waits for `what`, which others may share, within the limits and until {@link close}. Both end only the wait, not the work. */
  async wait<R>(what: string, limits: CallLimits, work: (signal: AbortSignal) => Promise<R>): Promise<R> {
    const scope = this.#scope(`${what} for ${this.#ports.server.origin}`, limits);
    this.#running.add(scope);
    try {
      scope.signal.throwIfAborted();
      return await untilAborted(work(scope.signal), scope.signal);
    } finally {
      this.#running.delete(scope);
      scope.close();
    }
  }

  /** Makes one call with an answer of finite length; the deadline covers retries and `read`. */
  async call<R>(request: HttpRequest, limits: CallLimits, read: (answer: HttpAnswer) => Promise<R>): Promise<R> {
    const scope = this.#scope(this.#label(request), limits);
    const prepare = async (): Promise<Attempt<HttpAnswer>> => {
      const sender = await this.#ports.pool.forCall();
      return async (credentialHeaders, beforeSend) => {
        const headers = this.#ports.asksForGzip ? { ...credentialHeaders, ...asksForGzip } : credentialHeaders;
        const response = await this.#request(sender, { request, headers, signal: scope.signal, beforeSend });
        const isSuccess = response.statusCode >= 200 && response.statusCode <= 206;
        const text = (): Promise<string> => response.body.text();
        return { ...this.#head(response), text, ...(isSuccess ? { answer: this.#answer(request, response) } : {}) };
      };
    };
    this.#running.add(scope);
    const span = startCallSpan(request, limits, this.#ports);
    try {
      const { beforeAttempt } = limits;
      const exchange = this.#exchange(request, scope, { isStream: false, prepare, beforeAttempt, span });
      return await read(await this.#attempts.run(exchange));
    } catch (error) {
      failUnanswered(span, error);
      throw failureOf(scope, error);
    } finally {
      span?.end();
      this.#running.delete(scope);
      scope.close();
    }
  }

  /** Opens an endless answer; any 2xx is a success. The deadline ends with the headers; `scope.abort()` ends the stream. */
  async open(request: HttpRequest, limits: CallLimits): Promise<OpenStream> {
    const scope = this.#scope(this.#label(request), limits);
    const span = startCallSpan(request, limits, this.#ports);
    const { beforeAttempt } = limits;
    const answer = await this.#open(
      scope,
      this.#exchange(request, scope, { ...this.#streamExchange(request, scope), beforeAttempt, span }),
    );
    // A body closes a turn later at the earliest, so the event cannot have been missed.
    answer.body.once('close', () => this.#running.delete(scope));
    return { answer, scope };
  }

  /** Turns a separate connection into a WebSocket that speaks one of the protocols. The deadline ends when it is open. */
  async upgrade(request: HttpRequest, limits: CallLimits, protocols: readonly string[]): Promise<OpenWebSocket> {
    const scope = this.#scope(this.#label(request), limits);
    const span = startCallSpan(request, limits, this.#ports);
    const { beforeAttempt } = limits;
    const { server, pool } = this.#ports;
    const url = new URL(`${this.#basePath}${request.path}`, server.origin);
    const prepare = async (): Promise<Attempt<OpenWebSocket>> => {
      const dial = await pool.forUpgrade();
      return async (credentialHeaders, beforeSend) => {
        const connection = await dial(scope.signal);
        const headers = { ...this.#ports.headers, ...credentialHeaders };
        return await handshake({
          url,
          protocols,
          headers,
          connection,
          signal: scope.signal,
          request: this.#label(request),
          beforeSend,
        });
      };
    };
    const opened = await this.#open(
      scope,
      this.#exchange(request, scope, { isStream: true, prepare, beforeAttempt, span }),
    );
    this.#running.delete(scope);
    scope.close();
    return opened;
  }

  /** Ends this client's calls, streams and upgraded connections, with errors of code ECANCELED. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.reachability.close();
    for (const scope of this.#running) scope.fail('ECANCELED', 'the client is closed');
    await this.#ports.pool.close();
  }

  /** Adds the scope to the scopes in progress; the caller removes it again. */
  async #open<A>(scope: CallScope, exchange: Exchange<A>): Promise<A> {
    this.#running.add(scope);
    try {
      const answer = await this.#attempts.run(exchange);
      scope.stopDeadline();
      return answer;
    } catch (error) {
      this.#running.delete(scope);
      scope.close();
      failUnanswered(exchange.span, error);
      throw failureOf(scope, error);
    } finally {
      exchange.span?.end();
    }
  }

  #streamExchange(request: HttpRequest, scope: CallScope): Pick<Exchange<HttpAnswer>, 'isStream' | 'prepare'> {
    const { pool } = this.#ports;
    const { signal } = scope;
    const onReplaced = (): void => scope.fail('ECONNRESET', 'the client certificate was replaced');
    const prepare = async (): Promise<Attempt<HttpAnswer>> => {
      const sender = await pool.forStream(onReplaced);
      // The signal aborted while certificates were loading, so nobody waits for the connection.
      if (signal.aborted) pool.release(sender);
      const release = (): void => {
        signal.removeEventListener('abort', release);
        pool.release(sender);
      };
      return async (headers, beforeSend) => {
        // An aborted request may hang until its connection is open, so the connection is closed at once.
        signal.addEventListener('abort', release, { once: true });
        const response = await this.#request(sender, { request, headers, signal, beforeSend }).catch(
          (error: unknown) => {
            release();
            throw error;
          },
        );
        const text = (): Promise<string> => response.body.text().finally(release);
        const isSuccess = response.statusCode >= 200 && response.statusCode <= 299;
        if (!isSuccess) return { ...this.#head(response), text };
        signal.removeEventListener('abort', release);
        response.body.once('close', release);
        return { ...this.#head(response), text, answer: this.#answer(request, response) };
      };
    };
    return { isStream: true, prepare };
  }

  #exchange<A>(
    request: HttpRequest,
    { signal }: CallScope,
    rest: Pick<Exchange<A>, 'isStream' | 'prepare' | 'beforeAttempt' | 'span'>,
  ): Exchange<A> {
    return { request, signal, label: this.#label(request), ...rest };
  }

  #scope(request: string, { signal, timeoutMs }: CallLimits): CallScope {
    const scope = new CallScope({ clock: this.#ports.options.clock, signal, timeoutMs, request });
    if (this.#isClosed) scope.fail('ECANCELED', 'the client is closed');
    return scope;
  }

  #label(request: HttpRequest): string {
    return `${request.method} ${this.#ports.server.origin}${this.#basePath}${pathOnly(request)}`;
  }

  async #request(sender: Sender, { request, headers, signal, beforeSend }: OneRequest): Promise<ReceivedAnswer> {
    const answer = await sender.request({
      origin: this.#ports.server.origin,
      path: `${this.#basePath}${request.path}`,
      method: request.method,
      headers: {
        accept: request.accept ?? 'application/json',
        ...(request.body === undefined ? {} : { 'content-type': request.contentType ?? 'application/json' }),
        ...this.#ports.headers,
        ...headers,
      } as Record<string, string | string[]>,
      body: request.body ?? null,
      signal,
      beforeSend,
    });
    return withDecodedBody(answer);
  }

  #head({ statusCode, headers }: ReceivedAnswer) {
    return { status: statusCode, headers };
  }

  #answer(request: HttpRequest, { statusCode, headers, body }: ReceivedAnswer): HttpAnswer {
    const contentType = String(headers['content-type'] ?? '');
    return { status: statusCode, contentType, body, request: this.#label(request) };
  }
}

const asksForGzip = { 'accept-encoding': 'gzip' };

interface OneRequest extends Pick<SentRequest, 'signal' | 'beforeSend'> {
  readonly request: HttpRequest;
  readonly headers: RequestHeaders;
}

/** Returns the error that a call rejects with. The caller's own abort reason stays unchanged. */
function failureOf(scope: CallScope, error: unknown): unknown {
  const failure = scope.signal.aborted ? abortReason(scope.signal, error) : error;
  return scope.isAbortedByCaller ? failure : withCallerStack(failure);
}

/** Marks the span as failed, unless the error is an answer of the server, which the span has recorded already. */
function failUnanswered(span: CallSpan | undefined, error: unknown): void {
  if (span !== undefined && !isStatusError(error)) span.failed(error);
}

/** Yields the bytes of an answer's body; a broken connection is a {@link TransportError}. */
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
