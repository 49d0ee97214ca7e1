// Exchange: one request and its answer, the same for HTTP/1.1 and HTTP/2. Made by http-server.ts, used by all handlers.
import type { TLSSocket } from 'node:tls';
import { type Clock, newBadRequest, newRequestEntityTooLarge } from '@kapstan/api';
import { parseRequestUrl } from './request-url.ts';
import {
  abortResponse,
  type NodeRequest,
  type NodeResponse,
  type ResponseStream,
  responseStream,
} from './response-stream.ts';
import { dropRest, endAndCut, isRestComing, isRestLong } from './unread-body.ts';

// Made once: every request ends so, and a stack would say nothing.
const connectionClosed = new Error('the connection was closed');

export class Exchange {
  readonly method: string;
  /** Decoded, without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** Sent back, and named in traces. "" until it is known. */
  auditId = '';
  /** The bytes of the query, for texts. */
  readonly rawQuery: string;
  readonly #request: NodeRequest;
  readonly #response: NodeResponse;
  readonly #controller = new AbortController();
  readonly #headers = new Map<string, string | string[]>();
  readonly #clock: Clock;
  #beforeHead: (() => void) | undefined;
  #stream: ResponseStream | undefined;
  /** The body was asked for and has not come, or was too large: nobody waits for the rest. */
  #isBodyOpen = false;

  constructor(request: NodeRequest, response: NodeResponse, clock: Clock) {
    this.#clock = clock;
    this.#request = request;
    this.#response = response;
    this.method = request.method ?? 'GET';
    const { path, query, rawQuery } = parseRequestUrl(request.url ?? '/');
    this.path = path;
    this.query = query;
    this.rawQuery = rawQuery;
    response.on('close', () => this.#controller.abort(connectionClosed));
  }

  /** Aborts when the peer goes away or the answer is over. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Gives up the request: whoever works for it sees its signal. */
  cancel(reason: Error): void {
    this.#controller.abort(reason);
  }

  /** Status of the answer; 0 while there is none. */
  get status(): number {
    return this.#response.headersSent ? this.#response.statusCode : 0;
  }

  /** Calls back when the answer is over or the connection is lost. */
  onClose(callback: () => void): void {
    this.#response.once('close', callback);
  }

  get hasAnswered(): boolean {
    return this.#response.headersSent;
  }

  /** The connection, for its client certificate and its address. */
  get socket(): TLSSocket | undefined {
    const request = this.#request;
    const socket = 'stream' in request ? request.stream.session?.socket : request.socket;
    return socket as TLSSocket | undefined;
  }

  /** A request header, several joined with ", ". The name in lower case. */
  header(name: string): string | undefined {
    const value = this.#request.headers[name];
    return Array.isArray(value) ? value.join(', ') : value;
  }

  /** Names of all request headers, lower case. */
  headerNames(): readonly string[] {
    return Object.keys(this.#request.headers);
  }

  /** Every value of a header as it was sent, for headers whose values may hold commas. */
  headerValues(name: string): readonly string[] {
    const raw = this.#request.rawHeaders;
    const values: string[] = [];
    for (let i = 0; i + 1 < raw.length; i += 2) {
      if (raw[i]?.toLowerCase() === name) values.push(raw[i + 1] ?? '');
    }
    return values;
  }

  /** Sets a header of the answer. Ignored once the answer has begun. */
  setHeader(name: string, value: string | readonly string[]): void {
    this.#headers.set(name, typeof value === 'string' ? value : [...value]);
  }

  /** The connection ends after this answer, and after those that are under way beside it (HTTP/2). Before the answer begins. */
  endConnection(): void {
    const response = this.#response;
    if ('stream' in response) response.stream.session?.close();
    else this.setHeader('Connection', 'close');
  }

  /** Runs once, when the head is about to go out: the last chance to set headers. */
  beforeHead(callback: () => void): void {
    this.#beforeHead = callback;
  }

  /** The whole body. Throws 413 beyond the limit, 400 when it breaks off; the rest is then cut off with the answer. */
  async readBody(limitBytes: number): Promise<Uint8Array> {
    this.#isBodyOpen = true;
    if (Number(this.header('content-length') ?? 0) > limitBytes) throw tooLarge(limitBytes);
    const body = await readAll(this.#request, limitBytes, this.signal);
    this.#isBodyOpen = false;
    return body;
  }

  /** A whole answer. Ignored after another whole one, as that of a deadline; within a stream it destroys that. */
  send(status: number, body: Uint8Array): void {
    if (this.hasAnswered) return this.abortUnfinished();
    if (status !== 304) this.#headers.set('Content-Length', String(body.length));
    this.#finish(status, this.method === 'HEAD' || status === 304 ? undefined : body);
  }

  /** An answer without a body: 204. */
  sendNothing(): void {
    if (this.hasAnswered) return this.abortUnfinished();
    this.#finish(204, undefined);
  }

  /** Begins an answer whose length is not known. The head goes out at once. */
  open(status: number): ResponseStream {
    this.#writeHead(status);
    dropRest(this.#request);
    if ('flushHeaders' in this.#response) this.#response.flushHeaders();
    this.#stream = responseStream(this.#response);
    return this.#stream;
  }

  /** Cuts the connection (HTTP/1.1) or the stream (HTTP/2) if the answer is not over: the peer sees that it is not whole. */
  abort(): void {
    abortResponse(this.#response);
  }

  /** Cuts an answer that was begun and not ended; leaves a whole one alone. */
  abortUnfinished(): void {
    if (this.#stream?.isClosed === false) this.abort();
  }

  #finish(status: number, body: Uint8Array | undefined): void {
    const [request, response] = [this.#request, this.#response];
    const isCut = isRestLong(request) || (this.#isBodyOpen && isRestComing(request));
    if (isCut && !('stream' in response)) this.#headers.set('Connection', 'close');
    this.#writeHead(status);
    if (isCut) return endAndCut(request, response, { body, clock: this.#clock });
    dropRest(request);
    if (body === undefined) response.end();
    else response.end(body);
  }

  #writeHead(status: number): void {
    const response = this.#response;
    this.#beforeHead?.();
    for (const [name, value] of this.#headers) response.setHeader(name, value);
    response.statusCode = status;
  }
}

function tooLarge(limitBytes: number): Error {
  return newRequestEntityTooLarge(`limit is ${limitBytes}`);
}

/**
 * Resolves at the end of the body. By events: an async iterator for each request costs several times as much. Ends with
 * the signal too: a peer that sends its body a byte a minute must not hold a place among the requests.
 */
function readAll(request: NodeRequest, limitBytes: number, signal: AbortSignal): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  return new Promise((resolve, reject) => {
    const fail = (error: Error): void => reject(newBadRequest(`error reading the request body: ${error.message}`));
    if (request.destroyed || signal.aborted) return fail(connectionClosed);
    request.on('data', (chunk: Uint8Array) => {
      size += chunk.length;
      if (size <= limitBytes) chunks.push(chunk);
      else reject(tooLarge(limitBytes));
    });
    request.once('end', () =>
      resolve(chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks)),
    );
    request.once('error', fail);
    request.once('close', () => fail(connectionClosed));
    signal.addEventListener('abort', () => fail(connectionClosed), { once: true });
  });
}
