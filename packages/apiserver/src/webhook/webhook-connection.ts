// WebhookConnection: one connection to a webhook, which makes one call at a time. It uses undici's HTTP client, because a call by node:https
// costs twice as much CPU. undici's main entry point also loads fetch, caches and mocks, which takes 0.1 s, so only the file of the client
// is imported (docs/decisions/0044-small-bundles.md). Used by webhook-connections.ts.
/// <reference path="./undici-client.d.ts" />
import { isIP } from 'node:net';
import { connect, type SecureContext, type TLSSocket } from 'node:tls';
import type { Client as UndiciClient } from 'undici/index.js';
import Client from 'undici/lib/dispatcher/client.js';
import { checkCertificateNames } from '../peer/certificate-names.ts';

/** Where a connection leads. */
export interface WebhookPlace {
  readonly hostname: string;
  readonly port: number;
  /** Name that the certificate must be for. Empty = `hostname`, which is an IP address then. */
  readonly servername: string;
}

export interface WebhookConnectionOptions {
  readonly place: WebhookPlace;
  readonly secureContext: SecureContext;
  /** True = any certificate of the webhook is accepted. */
  readonly trustsAnyone: boolean;
  /** Called once, when the handshake has succeeded. */
  readonly onOpen: () => void;
  /** Called once, when no further call can use the connection. */
  readonly onEnd: () => void;
}

export interface WebhookRequest {
  readonly method: 'POST' | 'GET';
  /** Path with the query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** null = none. */
  readonly body: Uint8Array | null;
  readonly maxAnswerBytes: number;
  /** Returns the error for a longer answer. */
  readonly tooLarge: (maxBytes: number) => Error;
}

export interface WebhookAnswer {
  readonly code: number;
  /** "" = absent. */
  readonly contentType: string;
  /** "" = absent. */
  readonly contentEncoding: string;
  /** "" = absent. */
  readonly retryAfter: string;
  /** "" = absent. */
  readonly location: string;
  readonly body: Buffer;
}

type AnswerHead = Omit<WebhookAnswer, 'body'>;

const idleMs = 90_000;
/** Silence after which the kernel asks whether the peer is still there. */
const probeMs = 30_000;

export class WebhookConnection {
  readonly #options: WebhookConnectionOptions;
  readonly #client: UndiciClient;
  #socket: TLSSocket | undefined;
  #isEnded = false;
  #hasAnswered = false;

  constructor(options: WebhookConnectionOptions) {
    this.#options = options;
    // #open knows the way, and each call has its own header Host. The URL of a host may be invalid although DNS allows the name.
    this.#client = new Client('https://webhook.invalid', {
      connect: (_, onConnection) => this.#open(onConnection),
      // The caller limits the time of a call.
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: idleMs,
      keepAliveMaxTimeout: idleMs,
    });
    this.#client.on('connect', options.onOpen);
    this.#client.on('connectionError', () => this.end());
    // The client would connect again by itself, and WebhookConnections could not count that connection.
    this.#client.on('disconnect', () => this.end());
  }

  /** True = a call was answered, so the webhook may since have closed the connection as idle. */
  get hasAnswered(): boolean {
    return this.#hasAnswered;
  }

  /** False once the webhook or this side has closed the connection. */
  get isUsable(): boolean {
    return !this.#isEnded && this.#socket?.destroyed === false;
  }

  /** Sends a request and resolves to the answer, whatever its code. Rejects when the connection breaks or ends. */
  send({ method, path, headers, body, maxAnswerBytes, tooLarge }: WebhookRequest): Promise<WebhookAnswer> {
    return new Promise((resolve, reject) => {
      const pieces: Buffer[] = [];
      let size = 0;
      let head: AnswerHead | undefined;
      this.#client.dispatch(
        { method, path, headers, body },
        {
          onRequestStart: () => undefined,
          onResponseStart: (controller, code, answered) => {
            head = headOf(code, answered);
            if (Number(answered['content-length']) > maxAnswerBytes) controller.abort(tooLarge(maxAnswerBytes));
          },
          onResponseData: (controller, piece) => {
            size += piece.length;
            if (size > maxAnswerBytes) controller.abort(tooLarge(maxAnswerBytes));
            else pieces.push(piece);
          },
          onResponseEnd: () => {
            this.#hasAnswered = true;
            resolve({ ...(head ?? headOf(0, {})), body: Buffer.concat(pieces) });
          },
          onResponseError: (_, error) => reject(cutError(error, head !== undefined)),
        },
      );
    });
  }

  /** Breaks the connection. A call that is under way is rejected. Idempotent. */
  end(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    // The client does not end a handshake that hangs.
    this.#socket?.destroy();
    void this.#client.destroy();
    this.#options.onEnd();
  }

  #open(onConnection: (...result: [Error, null] | [null, TLSSocket]) => void): void {
    const { place, secureContext, trustsAnyone } = this.#options;
    const { hostname: host, port, servername } = place;
    const socket = connect({
      host,
      port,
      // TLS does not announce IP addresses.
      ...(isIP(servername) === 0 && { servername }),
      secureContext,
      rejectUnauthorized: !trustsAnyone,
      checkServerIdentity: (_, certificate) => checkCertificateNames(servername || host, certificate),
      ALPNProtocols: ['http/1.1'],
    });
    const onError = (error: Error): void => onConnection(error, null);
    socket.once('error', onError).once('secureConnect', () => {
      socket.off('error', onError);
      onConnection(null, socket);
    });
    socket.setNoDelay(true).setKeepAlive(true, probeMs);
    this.#socket = socket;
  }
}

/** Errors for a connection that somebody closed: as Node reports it, by undici, and because it had ended before the call. */
const cutCodes: ReadonlySet<unknown> = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET', 'UND_ERR_DESTROYED']);
const codeOf = (error: unknown): unknown => (error as NodeJS.ErrnoException).code;

/** True = the connection was closed before an answer came. */
export function isCut(error: unknown): boolean {
  return cutCodes.has(codeOf(error));
}

/** Returns the error that node:https has for a connection that was closed before an answer, and Go's for an answer that was cut off. */
function cutError(error: Error, isAnswering: boolean): Error {
  const code = codeOf(error);
  // undici has these two errors for an answer that ends early on a connection that would have been closed after it.
  const isShort = code === 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH' || error.message.includes('(Invalid EOF state)');
  if (isAnswering) return isCut(error) || isShort ? new Error('unexpected EOF') : error;
  if (!isCut(error) || code === 'ECONNRESET' || code === 'EPIPE') return error;
  return Object.assign(new Error('socket hang up', { cause: error }), { code: 'ECONNRESET' });
}

function headOf(code: number, headers: Readonly<Record<string, string | readonly string[] | undefined>>): AnswerHead {
  return {
    code,
    contentType: firstOf(headers['content-type']),
    contentEncoding: firstOf(headers['content-encoding']),
    retryAfter: firstOf(headers['retry-after']),
    location: firstOf(headers.location),
  };
}

/** Returns the first value of a header that may be repeated; "" = absent. */
function firstOf(value: string | readonly string[] | undefined): string {
  return (typeof value === 'object' ? value[0] : value) ?? '';
}
