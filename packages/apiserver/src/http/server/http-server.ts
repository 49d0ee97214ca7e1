// HttpServer handles sockets, TLS, HTTP/1.1, HTTP/2 and a close that drains. It knows nothing about Kubernetes. Node
// 20's HTTP/2 server has neither closeIdleConnections nor a drain, so both are here.

import { createServer, type IncomingMessage, type Server, ServerResponse } from 'node:http';
import { createSecureServer, type Http2SecureServer, type ServerHttp2Session } from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';
import { type SecureContextOptions, TLSSocket } from 'node:tls';
import { type Clock, type Logger, silentLogger, systemClock } from '@kapstan/api';
import { messageOf } from '@kapstan/api/internal';
import { Exchange, type UpgradeOffer } from '../exchange/exchange.ts';
import { abortResponse, type NodeRequest, type NodeResponse } from '../exchange/response-stream.ts';
import { headWithoutUpgrade } from './ignored-upgrade.ts';
import { maxHeaders, refusalOf, refuseClient, refusePlainHttp, sendRefusal } from './request-refusal.ts';
import { SilentSessions } from './silent-sessions.ts';
import { UnansweredRequests } from './unanswered-requests.ts';

/** The serving certificate, and the accepted authorities of client certificates. */
export interface TlsOptions {
  /** In PEM. */
  readonly cert: string | Uint8Array;
  /** In PEM. */
  readonly key: string | Uint8Array;
  /**
   * Certificates of the authorities that sign client certificates, in PEM. Absent = no client certificates are
   * requested.
   */
  readonly clientCa?: string | Uint8Array | readonly (string | Uint8Array)[] | undefined;
}

export interface HttpServerOptions {
  /** Absent = plain HTTP/1.1, for tests and behind a proxy on the same machine. */
  readonly tls?: TlsOptions | undefined;
  /** Default 127.0.0.1. */
  readonly host?: string | undefined;
  /** 0 or absent = any free port. */
  readonly port?: number | undefined;
  /** Answers a request. A rejection is logged and ends the connection. */
  readonly handle: (exchange: Exchange) => Promise<void>;
  /**
   * Decides whether a request may be answered in the other protocol that it offers; if not, the offer is ignored.
   * Default: never.
   */
  readonly upgrades?: ((request: IncomingMessage) => boolean) | undefined;
  /** Idle HTTP/1.1 connections are closed after this time, in milliseconds. Default 180 000. */
  readonly keepAliveMs?: number | undefined;
  /** Maximum number of concurrent requests on one HTTP/2 connection. Default 250. */
  readonly maxConcurrentStreams?: number | undefined;
  /**
   * Maximum size of a request's head including its URL, in bytes; 4096 more are allowed, as in Go. A larger one gets
   * 431, or its stream is reset. Regardless of this option, nghttp2 ends an HTTP/2 connection at a header of more than
   * 65,536 bytes or nine frames of headers. Default 1 048 576.
   */
  readonly maxHeaderBytes?: number | undefined;
  /** Maximum wait of a close for running requests, in milliseconds. Default 10 000. */
  readonly drainMs?: number | undefined;
  /**
   * Share of requests, in [0, 1], after which the server sends GOAWAY on their HTTP/2 connection: running requests
   * finish and the client reconnects. Default 0. Source: filters/goaway.go.
   */
  readonly goawayChance?: number | undefined;
  /** Returns a random number in [0, 1). Default Math.random. */
  readonly random?: (() => number) | undefined;
  readonly clock?: Clock | undefined;
  readonly logger?: Logger | undefined;
}

export interface HttpServer {
  /** For example "https://127.0.0.1:6443". */
  readonly url: string;
  readonly port: number;
  /** Uses other certificates for new connections. Throws, and keeps the present ones, when TLS cannot use them. */
  useTls(tls: TlsOptions): void;
  /**
   * Stops listening, waits for running requests, then cuts the rest. Idempotent. `drainMs`: how long it waits for them,
   * in milliseconds; default: the option's value.
   */
  close(drainMs?: number): Promise<void>;
}

const defaults = {
  host: '127.0.0.1',
  port: 0,
  keepAliveMs: 180_000,
  // Clients assume this number until the server tells them another, so a client that opens more does so on purpose.
  // Source: secure_serving.go.
  maxConcurrentStreams: 250,
  maxHeaderBytes: 1_048_576,
  drainMs: 10_000,
} as const satisfies Partial<HttpServerOptions>;

/** The system probes a silent connection after this time, which finds peers that vanished. */
const keepAliveProbes = { keepAlive: true, keepAliveInitialDelay: 30_000 } as const;
/** Time for a client to send its headers, so that slow clients do not hold connections for longer. */
const headersTimeoutMs = 32_000;
/** Time after which a close logs what it waits for, in milliseconds. */
const slowCloseMs = 5_000;
/** Maximum number of requests that one line of the log names. */
const maxNamed = 10;
/** Bytes that Go allows above the limit. Source: net/http initialReadLimitSize. */
const headerSlopBytes = 4096;

/** Starts a server. Resolves once it listens; rejects when the address is not available. */
export async function startHttpServer(options: HttpServerOptions): Promise<HttpServer> {
  const connections = new Connections(options);
  const server = createNodeServer(options, (request, response) => connections.serve(request, response));
  connections.attach(server);
  const host = options.host ?? defaults.host;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port ?? defaults.port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
  const { port } = server.address() as AddressInfo;
  const scheme = options.tls === undefined ? 'http' : 'https';
  let closing: Promise<void> | undefined;
  return {
    url: `${scheme}://${host.includes(':') ? `[${host}]` : host}:${port}`,
    port,
    useTls: (tls) => {
      if ('setSecureContext' in server) server.setSecureContext(secureContextOf(tls));
    },
    close: (drainMs = options.drainMs ?? defaults.drainMs) => {
      closing ??= connections.drain(server, drainMs);
      return closing;
    },
  };
}

type NodeServer = Server | Http2SecureServer;

function secureContextOf({ cert, key, clientCa }: TlsOptions): SecureContextOptions {
  const ca = clientCa as string | string[] | undefined;
  return { cert: cert as string, key: key as string, ca, minVersion: 'TLSv1.2' };
}

/** Node cuts long lists of headers, so a request whose list was cut may have a body. */
function hasBody({ headers, rawHeaders }: IncomingMessage): boolean {
  if (rawHeaders.length > 2 * maxHeaders) return true;
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

function createNodeServer(
  options: HttpServerOptions,
  listener: (request: NodeRequest, response: NodeResponse) => void,
): NodeServer {
  const maxHeaderSize = (options.maxHeaderBytes ?? defaults.maxHeaderBytes) + headerSlopBytes;
  const http1 = {
    keepAliveTimeout: options.keepAliveMs ?? defaults.keepAliveMs,
    headersTimeout: headersTimeoutMs,
    requestTimeout: 0,
    // refusalOf checks the host, for both kinds of servers.
    requireHostHeader: false,
    maxHeaderSize,
  };
  // Accepts one more than the limit, so that a request over it can be noticed.
  const maxHeadersCount = maxHeaders + 1;
  // Newer versions of Node ask this before they release the connection; older ones always release it, see attach. If
  // the answer is no, Node serves the request but loses requests that were sent ahead after it; if it is yes, Node 26
  // loses the body.
  const shouldUpgradeCallback = (request: IncomingMessage): boolean =>
    options.upgrades?.(request) === true || !hasBody(request);
  const asked = { maxHeadersCount, shouldUpgradeCallback };
  const { tls } = options;
  if (tls === undefined) {
    const server = createServer(
      { ...http1, ...keepAliveProbes },
      (request: IncomingMessage, response: ServerResponse) => listener(request, response),
    );
    return Object.assign(server, asked);
  }
  const server = createSecureServer({
    allowHTTP1: true,
    ...secureContextOf(tls),
    // A certificate that cannot be trusted is answered with 401 rather than a broken connection.
    ...(tls.clientCa === undefined ? {} : { requestCert: true, rejectUnauthorized: false }),
    settings: {
      maxConcurrentStreams: options.maxConcurrentStreams ?? defaults.maxConcurrentStreams,
      maxHeaderListSize: maxHeaderSize,
    },
    // Unlike node:http, this server leaves Nagle's algorithm on, and an event could wait 40 ms for an acknowledgement.
    ...{ noDelay: true, ...keepAliveProbes },
    maxHeaderListPairs: maxHeaders,
  });
  server.on('request', listener);
  // This HTTP/1.1 server reads members of node:http's server, so they are copied.
  return Object.assign(server, { ...http1, ...asked });
}

/** The sockets, sessions and running requests of one server. */
class Connections {
  readonly #options: HttpServerOptions;
  readonly #clock: Clock;
  readonly #logger: Logger;
  /** All sockets; with TLS the TLS sockets and those below them. */
  readonly #sockets = new Set<Socket>();
  /** The sockets that speak HTTP/1.1. */
  readonly #http1Sockets = new Set<Socket>();
  readonly #sessions = new Set<ServerHttp2Session>();
  /**
   * Running answers. Those whose request asked for another protocol are kept with their connection, because the answer
   * may no longer own it.
   */
  readonly #running = new Map<NodeResponse, Socket | undefined>();
  readonly #unanswered = new UnansweredRequests();
  readonly #silent: SilentSessions;
  readonly #onRequestError = (error: Error): void => this.#logger.debug('request failed', { error: error.message });
  readonly #onAnswerError = (error: Error): void => this.#logger.debug('answer failed', { error: error.message });
  #onIdle: (() => void) | undefined;
  #isClosing = false;

  constructor(options: HttpServerOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#logger = options.logger ?? silentLogger;
    this.#silent = new SilentSessions({ clock: this.#clock, logger: this.#logger });
  }

  attach(server: NodeServer): void {
    const track = (socket: Socket, isHttp1: boolean): void => {
      if (this.#sockets.has(socket)) return;
      this.#sockets.add(socket);
      if (isHttp1) this.#http1Sockets.add(socket);
      socket.once('close', () => {
        this.#sockets.delete(socket);
        this.#http1Sockets.delete(socket);
      });
    };
    const isTls = this.#options.tls !== undefined;
    server.on('connection', (socket: Socket) => track(socket, !isTls));
    server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
      const offer = { request, socket, head };
      this.#unanswered.whenAnswered(socket, () => {
        if (this.#options.upgrades?.(request) === true) return this.#serveDetached(offer, offer);
        // The head may have been cut, so requests after it could not be told from its body.
        if (refusalOf(request) !== undefined) return this.#serveDetached(offer);
        // The request is parsed again without its offer, and the connection continues.
        socket.unshift(Buffer.concat([headWithoutUpgrade(request), head]));
        socket.removeAllListeners('timeout');
        server.emit(isTls ? 'secureConnection' : 'connection', socket);
      });
    });
    server.on('connect', (request: NodeRequest, detached: Socket | NodeResponse) => {
      if ('stream' in request) return this.serve(request, detached as NodeResponse);
      const socket = detached as Socket;
      this.#unanswered.whenAnswered(socket, () => this.#serveDetached({ request, socket }));
    });
    server.on('secureConnection', (socket: TLSSocket) => track(socket, socket.alpnProtocol !== 'h2'));
    server.on('session', (session: ServerHttp2Session) => {
      this.#sessions.add(session);
      session.once('close', () => this.#sessions.delete(session));
      session.on('error', (error) => this.#logger.debug('HTTP/2 session failed', { error: error.message }));
      this.#silent.add(session);
    });
    server.on('tlsClientError', (error: Error & { code?: string }, socket: TLSSocket) => {
      this.#logger.debug('TLS handshake failed', { error: error.message });
      if (error.code === 'ERR_SSL_HTTP_REQUEST') refusePlainHttp(socket);
    });
    server.on('clientError', (error: Error & { code?: string }, socket: Socket) => refuseClient(error, socket));
  }

  /** node:http has released the connection, so this code does what node:http would have done with an answer. */
  #serveDetached({ request, socket }: Pick<UpgradeOffer, 'request' | 'socket'>, offer?: UpgradeOffer): void {
    const response = new ServerResponse(request);
    socket.on('error', (error: Error) => this.#logger.debug('upgraded connection failed', { error: error.message }));
    response.assignSocket(socket);
    response.shouldKeepAlive = false;
    response.once('finish', () => socket.destroySoon());
    // Reads the socket while the handler decides; otherwise nobody would notice that the client has gone.
    const onEnd = (): void => void socket.destroy();
    socket.once('end', onEnd);
    socket.read(0);
    this.serve(request, response, offer && { ...offer, release: () => socket.off('end', onEnd) });
  }

  serve(request: NodeRequest, response: NodeResponse, upgrade?: UpgradeOffer): void {
    this.#running.set(response, upgrade?.socket);
    const over = (): void => {
      this.#running.delete(response);
      if (this.#running.size === 0) this.#onIdle?.();
    };
    if ('stream' in response) response.once('close', over);
    else {
      keepBytesOfPaused(response.req.socket);
      this.#unanswered.add(response, over);
    }
    // "close" reports a broken connection; without listeners the errors would end the process.
    request.on('error', this.#onRequestError);
    response.on('error', this.#onAnswerError);
    if (this.#isClosing && !('stream' in response)) response.shouldKeepAlive = false;
    if ('stream' in response && this.#sendsAway()) response.stream.session?.close();
    const refusal = refusalOf(request);
    if (refusal !== undefined) return sendRefusal(response, refusal);
    const ports = { clock: this.#clock, upgrade };
    const onError = (error: unknown): void => {
      this.#logger.error('handler failed', { error: messageOf(error) });
      abortResponse(response);
    };
    try {
      this.#options.handle(new Exchange(request, response, ports)).catch(onError);
    } catch (error) {
      onError(error);
    }
  }

  async drain(server: NodeServer, drainMs: number): Promise<void> {
    this.#isClosing = true;
    const cancelReport = this.#clock.setBackgroundTimer(() => this.#reportWait(), slowCloseMs);
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    for (const session of this.#sessions) session.close();
    this.#silent.hurry();
    this.#closeIdleSockets();
    await this.#idle(drainMs);
    for (const session of this.#sessions) session.destroy();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
    cancelReport();
  }

  #reportWait(): void {
    const requests = [...this.#running.keys()].map(({ req }) => `${req.method} ${req.url?.split('?', 1)[0]}`);
    this.#logger.info('the server waits for requests and connections before it stops', {
      requests: requests.length,
      first: requests.slice(0, maxNamed),
      connections: this.#sockets.size,
    });
  }

  #sendsAway(): boolean {
    const { goawayChance = 0, random = Math.random } = this.#options;
    return goawayChance > 0 && random() < goawayChance;
  }

  /** Closes idle HTTP/1.1 connections and tells the others not to stay open. */
  #closeIdleSockets(): void {
    const busy = new Set<unknown>();
    for (const [response, upgraded] of this.#running) {
      if ('stream' in response) continue;
      busy.add(upgraded ?? response.socket);
      if (!response.headersSent) response.shouldKeepAlive = false;
    }
    for (const socket of this.#http1Sockets) if (!busy.has(socket)) socket.destroy();
  }

  /** Resolves when no request runs, or when the time is up. */
  #idle(drainMs: number): Promise<void> {
    if (this.#running.size === 0) return Promise.resolve();
    return new Promise((resolve) => {
      const cancel = this.#clock.setTimer(resolve, drainMs);
      this.#onIdle = () => {
        cancel();
        resolve();
      };
    });
  }
}

const nothing = (): void => undefined;

/**
 * node:http stops reading when a request comes while an answer waits for room. Over TLS the records that it has decrypted then reach the
 * paused parser, which ends the connection (HPE_PAUSED). With our own listener they wait in the stream.
 */
function keepBytesOfPaused(socket: Socket): void {
  if (!(socket instanceof TLSSocket) || !socket.isPaused() || socket.listeners('data').includes(nothing)) return;
  socket.on('data', nothing);
  // The stream believes that it is reading, but so far the parser read in its place.
  socket.push('');
}
