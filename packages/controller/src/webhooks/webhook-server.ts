// WebhookServer answers the reviews of API servers over HTTPS. The paths are controller-runtime's. Started and drained by
// webhook-runner.ts.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { type Clock, delay, type Logger, parseDuration, StatusError, stringifyJson } from '@kapstan/api';
import { badRequest, methodNotSupported, timeout, tooManyRequests } from '@kapstan/api/errors';
import { type ProgramHooks, stringifyInSlices } from '@kapstan/api/internal';
import type { KeyPair } from '../certificates/key-pair.ts';
import { BodyBudget, inTurns, readJsonBody } from './request-body.ts';
import { admissionAnswer, conversionAnswer, type ReviewAnswer, statusOf } from './review-answers.ts';
import type { WebhookMetrics } from './webhook-metrics.ts';
import { conversionPath, pathOf } from './webhook-paths.ts';

export interface WebhookServerOptions {
  readonly hooks: ProgramHooks;
  readonly keyPair: KeyPair;
  readonly port: number;
  /** Undefined = all addresses. */
  readonly host: string | undefined;
  readonly maxInFlight: number;
  /** Bytes of the bodies of all requests under way; more get 429. */
  readonly maxBodyBytes: number;
  readonly metrics: WebhookMetrics;
  readonly clock: Clock;
  readonly logger: Logger;
}

interface Route {
  readonly path: string;
  readonly answer: ReviewAnswer;
  readonly maxBytes: number;
  readonly timeoutMs: number;
}

/** An object and its old state have 3 MiB each at most. Source: controller-runtime maxRequestSize. */
const admissionBytes = 7 * 1024 * 1024;
/** A list of the API server is converted in one review. */
const conversionBytes = 128 * 1024 * 1024;
/** Source: apiextensions-apiserver, the timeout of conversion webhooks. */
const conversionTimeoutMs = 30_000;
/** An API server closes its idle connections after 90 s, so it never meets one that is being closed here. */
const keepAliveMs = 180_000;
/** An API server waits no longer. */
const longestMs = 30_000;
/** An answer of this many items may be long, so it is written in several turns. */
const sliceAnswers = 64;

const noSuchWebhook = new StatusError({ code: 404, reason: 'NotFound', message: 'there is no such webhook' });
const badTarget = badRequest('the target of the request is not a path');

export class WebhookServer {
  readonly #options: WebhookServerOptions;
  readonly #budget: BodyBudget;
  readonly #routes: ReadonlyMap<string, Route>;
  readonly #server: Server;
  /** All connections, even those whose handshake has not ended or that never had a request. */
  readonly #sockets = new Set<Socket>();
  /** Connections of the requests under way. */
  readonly #busy = new Set<Socket>();
  #onIdle: () => void = () => undefined;
  #inFlight = 0;
  #isLeaving = false;

  constructor(options: WebhookServerOptions) {
    this.#options = options;
    this.#budget = new BodyBudget(options.maxBodyBytes);
    this.#routes = routesOf(options.hooks);
    for (const path of this.#routes.keys()) options.metrics.add(path);
    const { cert, key } = options.keyPair;
    const tls = { cert, key, minVersion: 'TLSv1.2', keepAliveTimeout: keepAliveMs } as const;
    this.#server = createServer(tls, (request, response) => {
      this.#track(request.socket, response);
      void this.#handle(request, response);
    });
    this.#server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
    });
  }

  /** Resolves to the port when it listens. */
  listen(): Promise<number> {
    const server = this.#server;
    const { port, host } = this.#options;
    return new Promise((resolve, reject) => {
      server.once('error', reject);
      server.listen({ port, host }, () => {
        server.removeListener('error', reject);
        server.on('error', (error) => this.#options.logger.error('the server of webhooks failed', { error }));
        resolve((server.address() as AddressInfo).port);
      });
    });
  }

  /** New connections get this certificate; existing ones continue. */
  use({ cert, key }: KeyPair): void {
    this.#server.setSecureContext({ cert, key, minVersion: 'TLSv1.2' });
  }

  /** From now on each answer ends its connection, so that callers switch to another process. */
  leave(): void {
    this.#isLeaving = true;
  }

  /** Accepts nothing more, and resolves when the requests under way are answered or the time is over. Idempotent. */
  async close(timeoutMs: number): Promise<void> {
    this.leave();
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    const idle = new Promise<void>((resolve) => {
      this.#onIdle = resolve;
      if (this.#busy.size === 0) resolve();
    });
    const over = new AbortController();
    await Promise.race([idle, delay(this.#options.clock, timeoutMs, over.signal).catch(() => undefined)]);
    over.abort();
    // Node does not count a connection without a request as idle, and callers keep some in reserve.
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  /** A connection is busy until its request is answered; while the server closes, until it has ended. */
  #track(socket: Socket, response: ServerResponse): void {
    const isDone = (): void => {
      this.#busy.delete(socket);
      if (this.#busy.size === 0) this.#onIdle();
    };
    this.#busy.add(socket);
    socket.once('close', isDone);
    response.once('finish', () => {
      if (this.#isLeaving) return;
      socket.removeListener('close', isDone);
      isDone();
    });
  }

  /** Never rejects, because nobody awaits it, and an unhandled error would end the process. */
  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const url = urlOf(request);
      const route = url && this.#routes.get(url.pathname);
      if (url !== undefined && route !== undefined) await this.#call(route, { request, response, url });
      else send(response, refused(url === undefined ? badTarget : noSuchWebhook));
    } catch (error) {
      this.#options.logger.error('cannot answer the call of a webhook', { error });
      response.destroy();
    }
  }

  async #call(route: Route, exchange: Exchange): Promise<void> {
    const { metrics, clock } = this.#options;
    const startMs = clock.monotonicNow();
    let code = 500;
    metrics.began(route.path);
    this.#inFlight++;
    try {
      const answered = await this.#answer(route, exchange);
      code = answered.code;
      if (this.#isLeaving) exchange.response.setHeader('connection', 'close');
      // The rest of a body that was refused or came too late is not read, so it needs no memory.
      if (!exchange.request.complete) exchange.response.setHeader('connection', 'close');
      send(exchange.response, answered);
    } finally {
      this.#inFlight--;
      metrics.ended(route.path, { code, seconds: (clock.monotonicNow() - startMs) / 1000 });
    }
  }

  /** Never rejects. */
  async #answer(route: Route, exchange: Exchange): Promise<Answered> {
    const call = new CallTime(exchange, { clock: this.#options.clock, timeoutMs: timeoutOf(route, exchange.url) });
    const share = this.#budget.share();
    try {
      if (this.#inFlight > this.#options.maxInFlight)
        throw tooManyRequests('too many requests, please try again later', 1);
      if (exchange.request.method !== 'POST')
        throw methodNotSupported({ group: '', resource: 'webhooks' }, exchange.request.method ?? '');
      const work = async (): Promise<string> => {
        const body = await readJsonBody(exchange.request, { maxBytes: route.maxBytes, share, signal: call.signal });
        return encoded(await route.answer(body, call.signal));
      };
      return { code: 200, text: await call.inTime(work()) };
    } catch (error) {
      const status = statusOf(error);
      if (status.code >= 500 && !exchange.response.destroyed)
        this.#options.logger.warn('a webhook failed', { webhook: route.path, error });
      return { code: status.code, text: stringifyJson(status), retryAfterSeconds: status.details?.retryAfterSeconds };
    } finally {
      // The parsed body lives as long as the call, and so does its share.
      share.giveBack();
      call.end();
    }
  }
}

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly url: URL;
}

interface Answered {
  readonly code: number;
  readonly text: string;
  readonly retryAfterSeconds?: number | undefined;
}

/** The time of one call, which ends when the caller gives up, by its clock or by its connection. */
class CallTime {
  readonly #stop = new AbortController();
  readonly #cancel: () => void;
  readonly #forget: () => void;

  constructor({ response }: Exchange, { clock, timeoutMs }: { readonly clock: Clock; readonly timeoutMs: number }) {
    const stop = this.#stop;
    this.#cancel = clock.setTimer(() => stop.abort(timeout('context deadline exceeded', 0)), timeoutMs);
    const onClose = (): void => stop.abort(new Error('the caller has gone'));
    response.once('close', onClose);
    this.#forget = () => response.removeListener('close', onClose);
  }

  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  /** Rejects when the time is over. A function that continues is then no longer awaited. */
  async inTime<T>(work: Promise<T>): Promise<T> {
    work.catch(() => undefined);
    const over = new Promise<never>((_, reject) => {
      this.signal.addEventListener('abort', () => reject(this.signal.reason), { once: true });
    });
    over.catch(() => undefined);
    return Promise.race([work, over]);
  }

  end(): void {
    this.#cancel();
    this.#forget();
  }
}

function routesOf({ admission, conversions }: ProgramHooks): ReadonlyMap<string, Route> {
  const routes = admission.map((hook): Route => {
    const { timeoutSeconds = 10 } = hook.rule;
    const timeoutMs = timeoutSeconds * 1000;
    return { path: pathOf(hook), answer: admissionAnswer(hook), maxBytes: admissionBytes, timeoutMs };
  });
  if (conversions.length > 0) {
    const answer = conversionAnswer(conversions);
    routes.push({ path: conversionPath, answer, maxBytes: conversionBytes, timeoutMs: conversionTimeoutMs });
  }
  return new Map(routes.map((route) => [route.path, route]));
}

/** Returns the caller's time limit, which is in its query. */
function timeoutOf({ timeoutMs }: Route, url: URL): number {
  const asked = url.searchParams.get('timeout');
  const parsed = asked === null ? timeoutMs : parseDuration(asked);
  return typeof parsed === 'number' && parsed > 0 ? Math.min(parsed, longestMs) : timeoutMs;
}

async function encoded(review: object): Promise<string> {
  const { response = {} } = review as { readonly response?: { readonly convertedObjects?: readonly unknown[] } };
  return (response.convertedObjects?.length ?? 0) < sliceAnswers
    ? stringifyJson(review)
    : inTurns(stringifyInSlices(review));
}

/** Returns undefined for a target that is not a URL, such as "//". */
function urlOf({ url = '/' }: IncomingMessage): URL | undefined {
  return URL.canParse(url, 'https://webhook') ? new URL(url, 'https://webhook') : undefined;
}

function refused({ status }: StatusError): Answered {
  return { code: status.code ?? 500, text: stringifyJson(status) };
}

function send(response: ServerResponse, { code, text, retryAfterSeconds }: Answered): void {
  if (response.destroyed) return;
  response.setHeader('content-type', 'application/json');
  if (retryAfterSeconds !== undefined && retryAfterSeconds > 0) response.setHeader('retry-after', retryAfterSeconds);
  response.writeHead(code);
  response.end(text);
}
