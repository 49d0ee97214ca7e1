// A real HTTP(S) server on a free port that answers as a test scripts it, and records the requests.
import { createServer as createHttpServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createSecureServer } from 'node:http2';
import { createServer as createHttpsServer, type ServerOptions } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { gzipAnswer } from './gzip-answer.ts';
import { currentWire, wireIdentity } from './wire.ts';

export interface RecordedRequest {
  readonly method: string;
  /** Path without the query. */
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly headers: IncomingMessage['headers'];
  /** Names and values as received, alternating. */
  readonly rawHeaders: readonly string[];
  readonly body: string;
  readonly socket: Socket;
}

export type SimpleAnswer = (response: ServerResponse, request: RecordedRequest) => void;
export type Answer = SimpleAnswer | ((response: ServerResponse, request: RecordedRequest) => Promise<void>);

export class ScriptedServer {
  readonly requests: RecordedRequest[] = [];
  /** Sockets that are open now. */
  readonly sockets: Set<Socket> = new Set();
  /** Answers over HTTP/2 that are not over. */
  readonly #unfinished: Set<ServerResponse> = new Set();
  /** Sockets that were ever opened. */
  connections: number = 0;
  readonly #server: Server;
  readonly #answers: Answer[] = [];
  /** A used answer stays, because it owns the bytes of stream(). */
  readonly #used: Answer[] = [];
  #fallback: Answer = (response) => void response.writeHead(404).end();
  readonly #scheme: string;

  private constructor(tls: ServerOptions | undefined) {
    this.#scheme = tls === undefined ? 'http' : 'https';
    const listener = (request: IncomingMessage, response: ServerResponse): void => void this.#answer(request, response);
    this.#server = createServer(tls, listener);
    this.#server.on(tls === undefined ? 'connection' : 'secureConnection', (socket: Socket) => {
      this.connections++;
      // Node cannot reset a connection with TLS.
      if (tls !== undefined) socket.resetAndDestroy = () => socket.destroy();
      this.sockets.add(socket);
      socket.on('error', () => undefined).once('close', () => this.sockets.delete(socket));
    });
  }

  /** Without `tls` the server speaks plain HTTP, unless the current wire is HTTP/2, which needs TLS. */
  static async start(tls?: ServerOptions): Promise<ScriptedServer> {
    const { http2 } = currentWire();
    const server = new ScriptedServer(tls ?? (http2 ? await wireIdentity() : undefined));
    await new Promise<void>((resolve) => server.#server.listen(0, '127.0.0.1', resolve));
    return server;
  }

  get url(): string {
    return `${this.#scheme}://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Number of open connections (HTTP/1.1) or streams (HTTP/2). */
  get occupied(): number {
    return currentWire().http2 ? this.#unfinished.size : this.sockets.size;
  }

  get last(): RecordedRequest {
    const request = this.requests.at(-1);
    if (request === undefined) throw new Error('no request came');
    return request;
  }

  /** Sets the answers of the next requests, one each. */
  next(...answers: Answer[]): this {
    this.#answers.push(...answers);
    return this;
  }

  /** Sets the answer of all requests beyond the scripted ones. */
  always(answer: Answer): this {
    this.#fallback = answer;
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  /** Node gives HTTP/2 requests a stand-in for their socket, which supports few of its methods. */
  #socketOf({ socket }: IncomingMessage): Socket {
    for (const one of this.sockets) if (one.remotePort === socket.remotePort) return one;
    return socket;
  }

  async #answer(message: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of message) chunks.push(chunk as Buffer);
    const url = new URL(message.url ?? '/', 'http://x');
    const request: RecordedRequest = {
      method: message.method ?? '',
      path: url.pathname,
      query: Object.fromEntries(url.searchParams),
      headers: message.headers,
      rawHeaders: message.rawHeaders,
      body: Buffer.concat(chunks).toString('utf8'),
      socket: this.#socketOf(message),
    };
    this.requests.push(request);
    this.#unfinished.add(response);
    response.once('close', () => this.#unfinished.delete(response));
    if (currentWire().gzip && /\bgzip\b/.test(String(message.headers['accept-encoding']))) gzipAnswer(response);
    const answer = this.#answers.shift() ?? this.#fallback;
    this.#used.push(answer);
    await answer(response, request);
  }
}

function createServer(
  tls: ServerOptions | undefined,
  listener: (request: IncomingMessage, response: ServerResponse) => void,
): Server {
  if (tls === undefined) return createHttpServer(listener);
  if (!currentWire().http2) return createHttpsServer(tls, listener);
  // Requests and answers of Node's compatibility API have the members that tests use.
  return createSecureServer({ ...tls, allowHTTP1: true } as object, listener as never) as unknown as Server;
}

/** Answers with JSON. */
export function json(
  body: unknown,
  init: { readonly status?: number; readonly headers?: Record<string, string> } = {},
): SimpleAnswer {
  return (response) => {
    response.writeHead(init.status ?? 200, { 'content-type': 'application/json', ...init.headers });
    response.end(JSON.stringify(body));
  };
}

/** Answers with text, unchanged. */
export function text(
  body: string,
  init: { readonly status?: number; readonly headers?: Record<string, string> } = {},
): SimpleAnswer {
  return (response) => {
    response.writeHead(init.status ?? 200, { 'content-type': 'text/plain', ...init.headers });
    response.end(body);
  };
}

/** Answers with a failure Status as kube-apiserver writes it. */
export function status(code: number, reason: string, message: string): Record<string, unknown> {
  return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, reason, code };
}

/** Opens a watch: sends the chunks and leaves the stream open. */
export function stream(...chunks: readonly (string | Buffer)[]): SimpleAnswer {
  // Node frees the bytes of a written string when the connection of an HTTP/2 stream is destroyed, and may still send that memory.
  const owned = chunks.map((chunk) => Buffer.from(chunk as string));
  return (response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.flushHeaders();
    for (const chunk of owned) response.write(chunk);
  };
}
