// Exchange: one request and its answer, the same for HTTP/1.1 and HTTP/2. Made by http-server.ts, used by all handlers.
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import type { Clock } from '@kapstan/api';
import { badRequest, requestEntityTooLarge } from '@kapstan/api/errors';
import { CallAbort, type CallSignal } from '@kapstan/api/internal';
import type { AuditTrail } from '../../audit/audit-trail.ts';
import { parseRequestUrl } from './request-url.ts';
import {
  abortResponse,
  type NodeRequest,
  type NodeResponse,
  NodeResponseStream,
  type ResponseStream,
} from './response-stream.ts';
import { dropRest, endAndCut, isRestComing, isRestLong } from './unread-body.ts';

// Made once: every request ends so, and a stack would say nothing.
const connectionClosed = new Error('the connection was closed');

/** A request to speak another protocol on its connection from here on. */
export interface UpgradeOffer {
  readonly request: IncomingMessage;
  readonly socket: Socket;
  /** What came after the request. */
  readonly head: Uint8Array;
  /** Called when the connection gets a new owner. */
  readonly release?: () => void;
}

export interface ExchangePorts {
  readonly clock: Clock;
  readonly upgrade?: UpgradeOffer;
}

export class Exchange {
  readonly method: string;
  /** Decoded, without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** Sent back, and named in traces. "" until it is known. */
  auditId = '';
  /** What the request leaves in the audit log. Undefined = nothing. */
  audit: AuditTrail | undefined;
  /** What was found out before the trail began: it is the first in it. */
  readonly earlyAnnotations: (readonly [key: string, value: string])[] = [];
  /** Warnings from before it was known what answers. */
  readonly earlyWarnings: string[] = [];
  /** The bytes of the query, for texts. */
  readonly rawQuery: string;
  #bodyBytes: number | undefined;
  #answerBytes = 0;
  readonly #request: NodeRequest;
  readonly #response: NodeResponse;
  readonly #abort = new CallAbort();
  readonly #onClose: (() => void)[] = [];
  #isClosed = false;
  readonly #headers = new Map<string, string | string[]>();
  readonly #clock: Clock;
  readonly #upgrade: UpgradeOffer | undefined;
  #isTakenOver = false;
  /** Its head is made, and sent as soon as its events are recorded. */
  #hasBegun = false;
  #beforeHead: (() => void) | undefined;
  #stream: ResponseStream | undefined;
  /** The body was asked for and has not come, or was too large: nobody waits for the rest. */
  #isBodyOpen = false;

  constructor(request: NodeRequest, response: NodeResponse, { clock, upgrade }: ExchangePorts) {
    this.#clock = clock;
    this.#upgrade = upgrade;
    this.#request = request;
    this.#response = response;
    this.method = request.method ?? 'GET';
    const { path, query, rawQuery } = parseRequestUrl(request.url ?? '/');
    this.path = path;
    this.query = query;
    this.rawQuery = rawQuery;
    response.once('close', () => {
      this.#isClosed = true;
      this.#abort.abort(connectionClosed);
      for (const callback of this.#onClose) callback();
    });
  }

  /** Aborts when the peer goes away or the answer is over. */
  get signal(): CallSignal {
    return this.#abort;
  }

  /** Gives up the request: whoever works for it sees its signal. */
  cancel(reason: Error): void {
    this.#abort.abort(reason);
  }

  /** Status of the answer; 0 while there is none. */
  get status(): number {
    if (this.#isTakenOver) return 101;
    return this.#response.headersSent ? this.#response.statusCode : 0;
  }

  /** Calls back when the answer is over or the connection is lost, at once where that was before. */
  onClose(callback: () => void): void {
    if (this.#isClosed) callback();
    else this.#onClose.push(callback);
  }

  /** Whether nothing more will be sent. */
  get isOver(): boolean {
    return this.signal.aborted || (!this.#isTakenOver && this.#response.writableEnded);
  }

  get hasAnswered(): boolean {
    return this.#isTakenOver || this.#hasBegun;
  }

  /** Whether the client asks for another protocol, so that {@link Exchange.takeOver} can be called. */
  get isUpgrade(): boolean {
    return this.#upgrade !== undefined;
  }

  /** The connection, from now on the caller's: nothing is answered here any more. Once, and before any answer. */
  takeOver(): UpgradeOffer {
    const response = this.#response;
    if (this.#upgrade === undefined || 'stream' in response || this.hasAnswered) {
      throw new Error('this request cannot be taken over');
    }
    const { socket, release } = this.#upgrade;
    release?.();
    this.#isTakenOver = true;
    this.audit?.begin(101);
    const recorded = this.audit?.recorded;
    if (recorded !== undefined) {
      socket.cork();
      void recorded.then(() => socket.uncork());
    }
    response.detachSocket(socket);
    socket.once('close', () => response.emit('close'));
    return this.#upgrade;
  }

  /** Length of the body that was read whole; undefined when none was. */
  get bodyBytes(): number | undefined {
    return this.#bodyBytes;
  }

  /** Bytes of the answer's body so far, as they are sent. */
  get answerBytes(): number {
    return this.#answerBytes;
  }

  /** The URL as it was sent: path and query. */
  get url(): string {
    return this.#request.url ?? '/';
  }

  get isHttp2(): boolean {
    return 'stream' in this.#response;
  }

  /** The body as it comes, for who passes it on. */
  get body(): Readable {
    return this.#request;
  }

  /** Names and values of the request's headers in turn, as they were sent. */
  get rawHeaders(): readonly string[] {
    return this.#request.rawHeaders;
  }

  /** Whether a body is on its way. */
  get hasBody(): boolean {
    return isRestComing(this.#request);
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

  /** Adds values of a header to those that the answer has. */
  addHeader(name: string, values: readonly string[]): void {
    const known = [...this.#headers.keys()].find((key) => key.toLowerCase() === name.toLowerCase()) ?? name;
    const all = [this.#headers.get(known) ?? [], values].flat();
    this.#headers.set(known, all.length === 1 && all[0] !== undefined ? all[0] : all);
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
    this.#bodyBytes = body.length;
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

  /** Begins an answer whose length is not known. The head goes out at once. 'passed': somebody else reads the body. */
  open(status: number, body: 'dropped' | 'passed' = 'dropped'): ResponseStream {
    this.#writeHead(status);
    if (body === 'dropped') dropRest(this.#request);
    const response = this.#response;
    const flushHead = (): void => {
      if ('flushHeaders' in response) response.flushHeaders();
    };
    const stream = new NodeResponseStream(response, {
      whenMayEnd: (end) => this.#whenRecorded(end),
      onWrite: (bytes) => {
        this.#answerBytes += bytes;
      },
    });
    this.#stream = stream;
    const recorded = this.audit?.recorded;
    if (recorded === undefined) flushHead();
    else {
      stream.cork();
      void recorded.then(() => {
        flushHead();
        stream.uncork();
      });
    }
    return stream;
  }

  /** Ends the answer when it is in the audit log, where that is asked; whoever was told that it is late waits for nothing. */
  #whenRecorded(end: () => void): void {
    this.audit?.complete();
    const recorded = this.signal.aborted ? undefined : this.audit?.recorded;
    if (recorded === undefined) end();
    else void recorded.then(end);
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
    this.#answerBytes = body?.length ?? 0;
    this.#writeHead(status);
    this.#whenRecorded(() => {
      if (isCut) return endAndCut(request, response, { body, clock: this.#clock });
      dropRest(request);
      if (body === undefined) response.end();
      else response.end(body);
    });
  }

  #writeHead(status: number): void {
    const response = this.#response;
    this.#hasBegun = true;
    this.#beforeHead?.();
    writeHeaders(response, status, this.#headers);
    this.audit?.begin(status);
  }
}

/** Over HTTP/1.1 in one go: a header that is set for itself is checked, stored and looked up again. */
function writeHeaders(response: NodeResponse, status: number, headers: ReadonlyMap<string, string | string[]>): void {
  if ('stream' in response) {
    for (const [name, value] of headers) response.setHeader(name, value);
    response.statusCode = status;
    return;
  }
  const raw: string[] = [];
  for (const [name, value] of headers) {
    if (typeof value === 'string') raw.push(name, value);
    else for (const one of value) raw.push(name, one);
  }
  response.writeHead(status, raw);
}

function tooLarge(limitBytes: number): Error {
  return requestEntityTooLarge(`limit is ${limitBytes}`);
}

/**
 * Resolves at the end of the body. By events: an async iterator for each request costs several times as much. Ends with
 * the signal too: a peer that sends its body a byte a minute must not hold a place among the requests.
 */
function readAll(request: NodeRequest, limitBytes: number, signal: CallSignal): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  return new Promise((resolve, reject) => {
    let isOver = false;
    // Every request closes in the end: an error, whose trace costs as much as the parsing, is made of those that were not read.
    const fail = (error: Error): void => {
      if (!isOver) reject(badRequest(`error reading the request body: ${error.message}`));
      isOver = true;
    };
    if (request.destroyed || signal.aborted) return fail(connectionClosed);
    request.on('data', (chunk: Uint8Array) => {
      size += chunk.length;
      if (size <= limitBytes) chunks.push(chunk);
      else reject(tooLarge(limitBytes));
    });
    request.once('end', () => {
      isOver = true;
      resolve(chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks));
    });
    request.once('error', fail);
    request.once('close', () => fail(connectionClosed));
    signal.addEventListener('abort', () => fail(connectionClosed), { once: true });
  });
}
