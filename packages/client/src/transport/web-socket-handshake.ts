// Opens a WebSocket on an open connection, using npm ws. An answer that is not an upgrade is returned as an answer, so that
// the server's Status, Retry-After and 401 count as for any request.
import type { Socket } from 'node:net';
import type { RequestHeaders } from '../credentials/credentials.ts';
import type { AttemptResponse } from './attempt-loop.ts';
import { TransportError } from './transport-error.ts';
import { WebSocket } from './ws.ts';

/** The members of a WebSocket of npm ws that are used. Declared here because that package ships no types for our users. */
interface MessageSocket {
  readonly protocol: string;
  on(event: 'message', listener: (data: unknown, isBinary: boolean) => void): unknown;
  on(event: 'ping' | 'pong', listener: () => void): unknown;
  on(event: 'error', listener: (error: Error) => void): unknown;
  on(event: 'close', listener: (code: number, reason: Buffer) => void): unknown;
  send(data: Uint8Array, options: { readonly binary: boolean }, done: (error?: Error) => void): void;
  ping(data: undefined, mask: undefined, done: () => void): void;
  pause(): void;
  resume(): void;
  close(code: number): void;
  terminate(): void;
}

/** An open WebSocket, paused, so that no message is lost before its owner listens and resumes it. */
export interface OpenWebSocket {
  readonly socket: MessageSocket;
  /** Name of the request for messages: "GET https://host/path". */
  readonly request: string;
  /** Returns the reason why the pool or the network ended the connection, if known. */
  readonly cause: () => Error | undefined;
}

export interface HandshakeOptions {
  readonly url: URL;
  readonly protocols: readonly string[];
  readonly headers: RequestHeaders;
  readonly connection: Socket;
  readonly signal: AbortSignal;
  readonly request: string;
  /** Called right before anything is sent; when it throws, the connection ends. */
  readonly beforeSend: () => void;
}

// The server sends frames of 32 KiB; a larger frame than this is not a channel protocol.
const maxFrameBytes = 16_777_216;
// The server closes the connection after both sides have sent a close frame; this is the time it has for that.
const closeTimeoutMs = 5_000;
const maxErrorBytes = 65_536;

type Opened = AttemptResponse<OpenWebSocket>;

export async function handshake(options: HandshakeOptions): Promise<Opened> {
  const { url, protocols, headers, connection, signal, request, beforeSend } = options;
  try {
    signal.throwIfAborted();
    beforeSend();
  } catch (error) {
    connection.destroy();
    throw error;
  }
  let cause: Error | undefined;
  connection.once('error', (error) => {
    cause = error;
  });
  const socket = new WebSocket(url, [...protocols], {
    createConnection: () => connection,
    headers: headers as Record<string, string | string[]> as Record<string, string>,
    perMessageDeflate: false,
    followRedirects: false,
    maxPayload: maxFrameBytes,
    closeTimeout: closeTimeoutMs,
  } as object);
  return await new Promise((resolve, reject) => {
    const onAbort = (): void => {
      socket.terminate();
      connection.destroy();
      reject(signal.reason);
    };
    const settle = (step: () => void): void => {
      signal.removeEventListener('abort', onAbort);
      step();
    };
    signal.addEventListener('abort', onAbort, { once: true });
    socket.once('open', () => {
      // Invariant: nothing is read before the owner's listeners are registered.
      socket.pause();
      const answer = { socket, request, cause: () => cause };
      settle(() => resolve({ status: 101, headers: {}, answer, text: async () => '' }));
    });
    socket.once('unexpected-response', (_, response) => {
      const { statusCode = 0, headers: received } = response;
      const text = (): Promise<string> => readText(response).finally(() => connection.destroy());
      settle(() => resolve({ status: statusCode, headers: received, text }));
    });
    // The listener stays, because a failed handshake may emit more than one error.
    socket.on('error', (error) => settle(() => reject(handshakeError(cause ?? error, options))));
  });
}

function handshakeError(error: Error, { request, protocols }: HandshakeOptions): Error {
  const message = refusals.find(([text]) => error.message.startsWith(text))?.[1];
  if (message === undefined) return error;
  return new TransportError({
    code: 'EPROTONOSUPPORT',
    message: `${message}: WebSocket with ${protocols.join(' or ')} is required, SPDY is not supported`,
    request,
    cause: error,
  });
}

// Texts with which ws refuses an answer 101, and ours.
const refusals: readonly (readonly [string, string])[] = [
  ['Invalid Upgrade header', 'the server upgrades to another protocol than WebSocket'],
  ['Server sent no subprotocol', 'the server chose no subprotocol'],
  ['Server sent an invalid subprotocol', 'the server chose a subprotocol that was not offered'],
];

async function readText(chunks: AsyncIterable<Buffer>): Promise<string> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const chunk of chunks) {
    parts.push(chunk);
    size += chunk.length;
    if (size >= maxErrorBytes) break;
  }
  return Buffer.concat(parts).toString('utf8');
}
