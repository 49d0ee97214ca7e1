// Exchange: one request and its answer, the same for HTTP/1.1 and HTTP/2. Made by http-server.ts, used by all handlers.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import type { TLSSocket } from 'node:tls';
import { newBadRequest, newRequestEntityTooLarge } from '@kapstan/api';

export type NodeRequest = IncomingMessage | Http2ServerRequest;
export type NodeResponse = ServerResponse | Http2ServerResponse;

/** The body of an answer while it is written. Writes after `end` are ignored. */
export interface ResponseStream {
  /** False: the peer is slower than we are; wait for {@link ResponseStream.drained}. The bytes must not be changed. */
  write(bytes: Uint8Array): boolean;
  /** Resolves when more can be written, and when the stream is closed. */
  drained(): Promise<void>;
  /** Bytes accepted and not yet handed to the system. */
  readonly bufferedBytes: number;
  readonly isClosed: boolean;
  /** Collects writes until {@link ResponseStream.uncork}. */
  cork(): void;
  uncork(): void;
  end(): void;
  /** Cuts the connection (HTTP/1.1) or the stream (HTTP/2): the peer sees that the body is not whole. */
  abort(): void;
}

// Made once: every request ends so, and a stack would say nothing.
const connectionClosed = new Error('the connection was closed');

export class Exchange {
  readonly method: string;
  /** Decoded, without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** The bytes of the query, for texts. */
  readonly rawQuery: string;
  readonly #request: NodeRequest;
  readonly #response: NodeResponse;
  readonly #controller = new AbortController();
  readonly #headers = new Map<string, string | string[]>();
  #beforeHead: (() => void) | undefined;

  constructor(request: NodeRequest, response: NodeResponse) {
    this.#request = request;
    this.#response = response;
    this.method = request.method ?? 'GET';
    const url = request.url ?? '/';
    const at = url.indexOf('?');
    this.rawQuery = at < 0 ? '' : url.slice(at + 1);
    this.path = decodePath(at < 0 ? url : url.slice(0, at));
    this.query = new URLSearchParams(this.rawQuery);
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

  /** Runs once, when the head is about to go out: the last chance to set headers. */
  beforeHead(callback: () => void): void {
    this.#beforeHead = callback;
  }

  /** The whole body. Throws 413 beyond the limit; the rest is then read and dropped so that the peer gets the answer. */
  async readBody(limitBytes: number): Promise<Uint8Array> {
    if (Number(this.header('content-length') ?? 0) > limitBytes) {
      this.#request.resume();
      throw tooLarge(limitBytes);
    }
    const chunks: Uint8Array[] = [];
    let size = 0;
    try {
      const onChunk = (chunk: Uint8Array): void => {
        size += chunk.length;
        if (size <= limitBytes) chunks.push(chunk);
        else chunks.length = 0;
      };
      await readAll(this.#request, onChunk, this.signal);
    } catch (error) {
      throw newBadRequest(`error reading the request body: ${error instanceof Error ? error.message : String(error)}`);
    }
    if (size > limitBytes) throw tooLarge(limitBytes);
    return chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks);
  }

  /** A whole answer. */
  send(status: number, body: Uint8Array): void {
    if (this.#response.headersSent) return;
    if (status !== 304) this.#headers.set('Content-Length', String(body.length));
    this.#writeHead(status);
    if (this.method === 'HEAD' || status === 304) this.#response.end();
    else this.#response.end(body);
  }

  /** An answer without a body: 204. */
  sendNothing(): void {
    if (this.#response.headersSent) return;
    this.#writeHead(204);
    this.#response.end();
  }

  /** Begins an answer whose length is not known. The head goes out at once. */
  open(status: number): ResponseStream {
    this.#writeHead(status);
    if ('flushHeaders' in this.#response) this.#response.flushHeaders();
    return responseStream(this.#response);
  }

  #writeHead(status: number): void {
    const response = this.#response;
    this.#beforeHead?.();
    // A body that nobody read must not stop the connection from being used again.
    if (!this.#request.readableEnded) this.#request.resume();
    for (const [name, value] of this.#headers) response.setHeader(name, value);
    response.statusCode = status;
  }
}

function tooLarge(limitBytes: number): Error {
  return newRequestEntityTooLarge(`limit is ${limitBytes}`);
}

/** Resolves at the end of the body. By events: an async iterator for each request costs several times as much. */
/** Ends with the signal too: a peer that sends its body a byte a minute must not hold a place among the requests. */
function readAll(request: NodeRequest, onChunk: (chunk: Uint8Array) => void, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (request.destroyed || signal.aborted) return reject(connectionClosed);
    request.on('data', onChunk);
    request.once('end', resolve);
    request.once('error', reject);
    request.once('close', () => reject(connectionClosed));
    signal.addEventListener('abort', () => reject(connectionClosed), { once: true });
  });
}

function responseStream(response: NodeResponse): ResponseStream {
  const sink = 'stream' in response ? response.stream : response;
  let closed = false;
  sink.once('close', () => {
    closed = true;
  });
  // A peer that resets the stream is told by "close"; without a listener the error would end the process.
  sink.on('error', () => {
    closed = true;
  });
  const isClosed = (): boolean => closed || sink.destroyed || sink.writableEnded;
  return {
    write: (bytes) => isClosed() || sink.write(bytes),
    drained: () => waitForDrain(sink, isClosed),
    get bufferedBytes() {
      return sink.writableLength;
    },
    get isClosed() {
      return isClosed();
    },
    cork: () => sink.cork(),
    uncork: () => sink.uncork(),
    end: () => {
      if (!isClosed()) sink.end();
    },
    abort: () => {
      if ('close' in sink && 'session' in sink) sink.close(2);
      else sink.destroy();
    },
  };
}

interface Drainable {
  readonly writableNeedDrain: boolean;
  once(event: 'drain' | 'close', listener: () => void): unknown;
  off(event: 'drain' | 'close', listener: () => void): unknown;
}

function waitForDrain(sink: Drainable, isClosed: () => boolean): Promise<void> {
  if (isClosed() || !sink.writableNeedDrain) return Promise.resolve();
  return new Promise((resolve) => {
    const done = (): void => {
      sink.off('drain', done);
      sink.off('close', done);
      resolve();
    };
    sink.once('drain', done);
    sink.once('close', done);
  });
}

/** Percent-decoding; a path that cannot be decoded is taken as it is and found nowhere. */
function decodePath(path: string): string {
  if (!path.includes('%')) return path;
  try {
    return decodeURIComponent(path);
  } catch (error) {
    if (error instanceof URIError) return path;
    throw error;
  }
}
