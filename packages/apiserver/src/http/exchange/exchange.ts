// Exchange: one request and its answer, the same for HTTP/1.1 and HTTP/2. Made by http-server.ts, used by all handlers.
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import type { Clock } from '@kapstan/api';
import { CallAbort, type CallSignal } from '@kapstan/api/internal';
import type { AuditTrail } from '../../audit/audit-trail.ts';
import type { Span } from '../../tracing/span.ts';
import { connectionClosed, readAll, tooLarge } from './request-body.ts';
import { parseRequestUrl } from './request-url.ts';
import {
  abortResponse,
  type NodeRequest,
  type NodeResponse,
  NodeResponseStream,
  type ResponseStream,
} from './response-stream.ts';
import { dropRest, endAndCut, isRestComing, isRestLong } from './unread-body.ts';

/** The connection of a request that asked to switch to another protocol. */
export interface UpgradeOffer {
  readonly request: IncomingMessage;
  readonly socket: Socket;
  /** The bytes that followed the head of the request. */
  readonly head: Uint8Array;
  /** Call it when the connection has a new owner. */
  readonly release?: () => void;
}

/** Learns where a request is. */
export interface RequestSteps {
  /** Ends the step under way and begins the next. `userName` is passed once it is known. */
  enter(step: string, userName?: string): void;
}

export interface ExchangePorts {
  readonly clock: Clock;
  readonly upgrade?: UpgradeOffer | undefined;
}

export interface ReportedResource {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly subresource: string;
}

export class Exchange {
  readonly method: string;
  /** The decoded path, without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** Returned in the header Audit-Id and named in traces. "" until it is known. */
  auditId = '';
  /** Records this request in the audit log. Undefined = it is not recorded. */
  audit: AuditTrail | undefined;
  /** The part of the trace that is under way; undefined where the request is not traced. */
  span: Span | undefined;
  /** Records the steps of this request for the inspector. Undefined = they are not recorded. */
  steps: RequestSteps | undefined;
  /** Audit annotations made before the trail began; the trail starts with them. */
  readonly earlyAnnotations: (readonly [key: string, value: string])[] = [];
  /** Warnings made before it is known which handler answers. */
  readonly earlyWarnings: string[] = [];
  /** Names that metrics show for a path that is not a resource. */
  reportedResource: ReportedResource | undefined;
  /** The query as it was sent, for texts that quote it. */
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
  /** True once the head is made. It is sent as soon as the request's audit events are recorded. */
  #hasBegun = false;
  #beforeHead: (() => void) | undefined;
  #stream: ResponseStream | undefined;
  /**
   * True when the body was requested and either has not arrived or was too large, so that nobody waits for the rest.
   */
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

  /** Gives up the request: all work for it is cancelled through {@link Exchange.signal}. */
  cancel(reason: Error): void {
    this.#abort.abort(reason);
  }

  /** Status code of the answer; 0 while there is none. */
  get status(): number {
    if (this.#isTakenOver) return 101;
    return this.#response.headersSent ? this.#response.statusCode : 0;
  }

  /** Calls back when the answer is over or the connection is lost; at once if that has happened already. */
  onClose(callback: () => void): void {
    if (this.#isClosed) callback();
    else this.#onClose.push(callback);
  }

  /** True when nothing more will be sent. */
  get isOver(): boolean {
    return this.signal.aborted || (!this.#isTakenOver && this.#response.writableEnded);
  }

  get hasAnswered(): boolean {
    return this.#isTakenOver || this.#hasBegun;
  }

  /** True when the client requests another protocol, so that {@link Exchange.takeOver} may be called. */
  get isUpgrade(): boolean {
    return this.#upgrade !== undefined;
  }

  /**
   * Hands the connection to the caller, after which the exchange answers nothing. May be called once, before any
   * answer.
   */
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

  /** Length of the body that was read in full; undefined when none was. */
  get bodyBytes(): number | undefined {
    return this.#bodyBytes;
  }

  /** Bytes of the answer's body sent so far, as encoded for the connection. */
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

  /** The body as a stream, for handlers that pass it on. */
  get body(): Readable {
    return this.#request;
  }

  /** Names and values of the request's headers alternately, as they were sent. */
  get rawHeaders(): readonly string[] {
    return this.#request.rawHeaders;
  }

  /** True when the request has a body. */
  get hasBody(): boolean {
    return isRestComing(this.#request);
  }

  /** The connection, which knows the client's certificate and address. */
  get socket(): TLSSocket | undefined {
    const request = this.#request;
    const socket = 'stream' in request ? request.stream.session?.socket : request.socket;
    return socket as TLSSocket | undefined;
  }

  /** Returns a request header; several of the same name are joined with ", ". `name` is in lower case. */
  header(name: string): string | undefined {
    const value = this.#request.headers[name];
    return Array.isArray(value) ? value.join(', ') : value;
  }

  /** Returns the names of all request headers in lower case. */
  headerNames(): readonly string[] {
    return Object.keys(this.#request.headers);
  }

  /** Returns every value of a header as it was sent, for headers whose values may hold commas. */
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

  /** Adds values of a header to those already set. */
  addHeader(name: string, values: readonly string[]): void {
    const known = [...this.#headers.keys()].find((key) => key.toLowerCase() === name.toLowerCase()) ?? name;
    const all = [this.#headers.get(known) ?? [], values].flat();
    this.#headers.set(known, all.length === 1 && all[0] !== undefined ? all[0] : all);
  }

  /**
   * Ends the connection after this answer and, on HTTP/2, after the other answers under way. Call it before the answer
   * begins.
   */
  endConnection(): void {
    const response = this.#response;
    if ('stream' in response) response.stream.session?.close();
    else this.setHeader('Connection', 'close');
  }

  /** Runs `callback` once, just before the head goes out, which is the last chance to set headers. */
  beforeHead(callback: () => void): void {
    this.#beforeHead = callback;
  }

  /**
   * Reads the whole body. Throws 413 beyond the limit and 400 when it breaks off; the rest is then dropped with the
   * answer.
   */
  async readBody(limitBytes: number): Promise<Uint8Array> {
    this.#isBodyOpen = true;
    this.steps?.enter('reading the body');
    if (Number(this.header('content-length') ?? 0) > limitBytes) throw tooLarge(limitBytes);
    const body = await readAll(this.#request, limitBytes, this.signal);
    this.#isBodyOpen = false;
    this.#bodyBytes = body.length;
    this.steps?.enter('handler');
    return body;
  }

  /**
   * Sends a whole answer. Does nothing after another whole answer, such as the one of a deadline; cuts a stream that
   * has begun.
   */
  send(status: number, body: Uint8Array): void {
    if (this.hasAnswered) return this.abortUnfinished();
    if (status !== 304) this.#headers.set('Content-Length', String(body.length));
    this.#finish(status, this.method === 'HEAD' || status === 304 ? undefined : body);
  }

  /** Answers 204 without a body. */
  sendNothing(): void {
    if (this.hasAnswered) return this.abortUnfinished();
    this.#finish(204, undefined);
  }

  /**
   * Begins an answer of unknown length; the head goes out at once. Pass 'passed' when the handler itself reads the
   * body.
   */
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

  /**
   * Calls `end` once the audit log has the answer, if it must wait for that. A client that was told that its time is
   * over need not wait.
   */
  #whenRecorded(end: () => void): void {
    this.audit?.complete();
    const recorded = this.signal.aborted ? undefined : this.audit?.recorded;
    if (recorded === undefined) end();
    else void recorded.then(end);
  }

  /**
   * Cuts the connection (HTTP/1.1) or the stream (HTTP/2) if the answer is not over, so that the peer sees it is
   * incomplete.
   */
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
    this.steps?.enter('sending the answer');
    this.#beforeHead?.();
    writeHeaders(response, status, this.#headers);
    this.audit?.begin(status);
  }
}

/**
 * HTTP/1.1 gets all headers in one call, because each header set individually is checked, stored and looked up again.
 */
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
