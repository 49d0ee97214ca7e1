// One HTTP/2 connection and its requests. Made and chosen by http2-pool.ts; http2-health.ts detects that its peer is gone.
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect as connectHttp2,
  constants,
  type OutgoingHttpHeaders,
} from 'node:http2';
import type { Socket } from 'node:net';
import type { Clock } from '@kapstan/api';
import { bodyEnd, connectionLost, Http2Body } from './http2-body.ts';
import { Http2Health, type Http2Limits } from './http2-health.ts';
import type { ReceivedAnswer, SentRequest } from './sender.ts';

export interface Http2ConnectionOptions {
  readonly origin: string;
  /** An open connection that has chosen "h2". */
  readonly socket: Socket;
  readonly clock: Clock;
  readonly limits: Http2Limits;
  /** Called when the server asks to leave; requests in progress continue. */
  readonly onLeaving: (connection: Http2Connection) => void;
  /** Called once when the connection is over. */
  readonly onClosed: (connection: Http2Connection) => void;
}

// Sizes of Go's transport (transportDefaultStreamFlow). Node acknowledges the bytes of the connection as they arrive, so an unread stream
// uses up only its own window.
const streamWindowBytes = 4_194_304;
const connectionWindowBytes = 16_777_216;
const maxHeaderPairs = 1024;
const sessionMemoryMegabytes = 64;
// The same as for idle HTTP/1.1 connections. Source: client-go transport/cache.go.
const idleMs = 90_000;
/** Time for the server to send its settings, which begin every connection, in milliseconds. */
const settingsTimeoutMs = 30_000;
const headersFrame = 1;

export class Http2Connection {
  readonly #session: ClientHttp2Session;
  readonly #socket: Socket;
  readonly #health: Http2Health;
  readonly #onLeaving: () => void;
  #places = 0;
  /** The last request that a leaving server claims to have handled; undefined while it stays. */
  #lastHandledId: number | undefined;
  readonly #whenClosed: Promise<void>;

  /** Resolves when the server's limits are known. Rejects when it does not speak HTTP/2 after all. */
  static async open(options: Http2ConnectionOptions): Promise<Http2Connection> {
    const connection = new Http2Connection(options);
    const session = connection.#session;
    return await new Promise((resolve, reject) => {
      const cancel = options.clock.setTimer(
        () => connection.destroy(failure('ETIMEDOUT', `no HTTP/2 settings within ${settingsTimeoutMs} ms`)),
        settingsTimeoutMs,
      );
      let cause: unknown;
      session.once('error', (error) => {
        cause = error;
      });
      session.once('close', () => {
        cancel();
        reject(cause ?? connectionLost());
      });
      session.once('remoteSettings', () => {
        cancel();
        resolve(connection);
      });
    });
  }

  private constructor({ origin, socket, clock, limits, onLeaving, onClosed }: Http2ConnectionOptions) {
    this.#socket = socket;
    const session = connectHttp2(origin, {
      createConnection: () => socket,
      settings: { enablePush: false, initialWindowSize: streamWindowBytes },
      maxHeaderListPairs: maxHeaderPairs,
      maxSessionMemory: sessionMemoryMegabytes,
    });
    this.#session = session;
    this.#onLeaving = () => onLeaving(this);
    session.once('connect', () => session.setLocalWindowSize(connectionWindowBytes));
    session.unref();
    // The streams get the error too.
    session.on('error', () => undefined);
    session.on('goaway', (_, lastId) => {
      this.#lastHandledId = lastId;
      this.#onLeaving();
    });
    const health = {
      receivedBytes: () => socket.bytesRead,
      isIdle: () => this.#places === 0,
      ping: (onAnswer: () => void) => void (session.destroyed || session.ping(() => onAnswer())),
      onSilent: () => this.destroy(connectionLost()),
      onUnused: () => void this.close(),
    };
    this.#health = new Http2Health({ ...limits, clock, idleMs, connection: health });
    this.#whenClosed = new Promise((resolve) => {
      session.once('close', () => {
        this.#health.stop();
        onClosed(this);
        resolve();
      });
    });
  }

  /** True if one more request may begin. */
  get hasRoom(): boolean {
    const { closed, destroyed, remoteSettings } = this.#session;
    return !closed && !destroyed && this.#places < (remoteSettings.maxConcurrentStreams ?? Number.POSITIVE_INFINITY);
  }

  /** Keeps a place for one {@link send}, so that no other request takes it in the meantime. */
  reserve(): void {
    if (this.#places++ === 0 && !this.#session.destroyed) this.#session.ref();
  }

  /** Sends a request on a reserved place. */
  send(request: SentRequest): Promise<ReceivedAnswer> {
    return new Promise((resolve, reject) => {
      const { signal } = request;
      try {
        signal.throwIfAborted();
        if (!this.#session.closed && !this.#session.destroyed) request.beforeSend();
        const stream = this.#session.request(headersOf(request), { endStream: request.body === null });
        this.#follow(stream, signal, { resolve, reject });
        if (request.body !== null) stream.end(request.body);
      } catch (error) {
        this.#leave();
        reject(isGone(error) ? new NotProcessed(error) : error);
      }
    });
  }

  #follow(stream: ClientHttp2Stream, signal: AbortSignal, { resolve, reject }: Settle): void {
    let body: Http2Body | undefined;
    let cause: Error | undefined;
    let isSent = true;
    const isEnded = bodyEnd(stream);
    const onAbort = (): void => {
      reject(signal.reason);
      body?.destroy(signal.reason);
      stream.close(constants.NGHTTP2_CANCEL);
    };
    signal.addEventListener('abort', onAbort, { once: true });
    stream.once('response', (headers) => {
      body = new Http2Body(stream, isEnded);
      resolve({ statusCode: headers[':status'] ?? 0, headers: headers as ReceivedAnswer['headers'], body });
    });
    stream.once('end', () => {
      if (stream.writableFinished) return;
      // The server answered before it had read the request. Node keeps the rest of the request for the lifetime of the connection.
      this.#retire();
      stream.destroy();
    });
    stream.once('frameError', (type) => {
      if (type === headersFrame) isSent = false;
    });
    stream.on('error', (error) => {
      cause = error;
    });
    stream.once('close', () => {
      signal.removeEventListener('abort', onAbort);
      this.#leave();
      // Node uses this code, too, when it has no memory left for the requests of a connection.
      if (stream.rstCode === constants.NGHTTP2_ENHANCE_YOUR_CALM) this.#retire();
      const error = cause ?? connectionLost();
      if (body === undefined) reject(this.#isProcessed(stream, isSent) ? error : new NotProcessed(error));
      else if (!stream.readableEnded) body.destroy(error);
    });
  }

  /**
   * Returns whether the server may have acted on a failed request. It has not if it refused the stream or left before it, or if it began to
   * leave before the request was sent, which Node reports as a frame that could not be sent.
   */
  #isProcessed({ id, rstCode }: ClientHttp2Stream, isSent: boolean): boolean {
    if (rstCode === constants.NGHTTP2_REFUSED_STREAM) return false;
    const lastId = this.#lastHandledId;
    return lastId === undefined || (isSent && id !== undefined && id <= lastId);
  }

  #leave(): void {
    if (--this.#places === 0 && !this.#session.destroyed) this.#session.unref();
  }

  /** Closes the connection to new requests; those in progress continue. */
  #retire(): void {
    this.#onLeaving();
    void this.close();
  }

  /** Takes no more requests; resolves when those in progress are over. */
  close(): Promise<void> {
    if (!this.#session.closed) this.#session.close();
    return this.#whenClosed;
  }

  /** Ends the connection and its requests at once. */
  destroy(error?: Error): Promise<void> {
    this.#session.destroy(error);
    // The session would wait for its last frames, which a dead peer never takes.
    this.#socket.destroy();
    return this.#whenClosed;
  }
}

interface Settle {
  readonly resolve: (answer: ReceivedAnswer) => void;
  readonly reject: (error: unknown) => void;
}

/** The server has not acted on the request, so any request may be sent again. */
export class NotProcessed extends Error {
  constructor(cause: unknown) {
    super('the server did not process the request', { cause });
  }
}

function isGone(error: unknown): boolean {
  const { code } = error as { readonly code?: unknown };
  return code === 'ERR_HTTP2_GOAWAY_SESSION' || code === 'ERR_HTTP2_INVALID_SESSION';
}

function headersOf({ method, path, headers, body }: SentRequest): OutgoingHttpHeaders {
  const length = body === null ? {} : { 'content-length': String(Buffer.byteLength(body)) };
  return { ':method': method, ':path': path, ...headers, ...length };
}

export function failure(code: string, message: string): Error {
  return Object.assign(new Error(message), { code });
}
