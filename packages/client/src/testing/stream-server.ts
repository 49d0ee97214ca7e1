// Stands in for the streaming side of an API server and its kubelets: real sockets, npm ws, channel protocols. A test
// plays the container on each accepted connection, byte by byte.
import { once } from 'node:events';
import { createServer as createHttpServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createHttpsServer, type ServerOptions } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { type WebSocket, WebSocketServer } from 'ws';

export interface StreamServerOptions {
  readonly tls?: ServerOptions;
  /** Subprotocols that the server speaks, in order of preference. Default v5, v4. Empty = it names none. */
  readonly protocols?: readonly string[];
  /** False = never answers a ping, like a peer behind a dead link. Default true. */
  readonly autoPong?: boolean;
}

/** One accepted connection, as the container sees it. */
export class StreamPeer {
  readonly socket: WebSocket;
  readonly request: IncomingMessage;
  /** All received messages, each with channel and text. */
  readonly messages: [channel: number, text: string][] = [];
  /** Number of received bytes by channel. */
  readonly received: Map<number, number> = new Map();

  constructor(socket: WebSocket, request: IncomingMessage) {
    this.socket = socket;
    this.request = request;
    socket.on('error', () => undefined);
    socket.on('message', (data: Buffer) => {
      const channel = data[0] ?? -1;
      this.messages.push([channel, data.subarray(1).toString('latin1')]);
      this.received.set(channel, (this.received.get(channel) ?? 0) + data.length - 1);
    });
  }

  send(channel: number, data: string | Uint8Array): this {
    this.socket.send(Buffer.concat([Buffer.of(channel), Buffer.from(data as string)]));
    return this;
  }

  /** Sends the Status of the error channel: 0 = success. */
  exit(code: number): this {
    if (code === 0) return this.status({ status: 'Success' });
    return this.status({
      status: 'Failure',
      reason: 'NonZeroExitCode',
      message: `command terminated with non-zero exit code: exit status ${code}`,
      details: { causes: [{ reason: 'ExitCode', message: String(code) }] },
    });
  }

  status(status: Record<string, unknown>): this {
    return this.send(3, JSON.stringify({ metadata: {}, ...status }));
  }

  /** Resolves when the channel has received this many bytes. */
  async hasReceived(channel: number, bytes: number): Promise<void> {
    while ((this.received.get(channel) ?? 0) < bytes) await once(this.socket, 'message');
  }

  /** Resolves when this message has arrived. */
  async hasMessage(channel: number, text: string): Promise<void> {
    while (!this.messages.some(([from, said]) => from === channel && said === text)) await once(this.socket, 'message');
  }
}

type Refusal = (socket: Socket, request: IncomingMessage) => void;

export class StreamServer {
  /** Requests that asked for an upgrade. */
  readonly requests: IncomingMessage[] = [];
  /** Answers plain requests. */
  onRead: (request: IncomingMessage, response: ServerResponse) => void = (_, response) => void response.end('{}');
  /** Sockets that are open now. */
  readonly sockets: Set<Socket> = new Set();
  readonly #server: Server;
  readonly #refusals: Refusal[] = [];
  readonly #peers: StreamPeer[] = [];
  readonly #scheme: string;
  #waiting: ((peer: StreamPeer) => void) | undefined;

  private constructor({ tls, protocols = ['v5.channel.k8s.io', 'v4.channel.k8s.io'], autoPong }: StreamServerOptions) {
    this.#scheme = tls === undefined ? 'http' : 'https';
    this.#server = tls === undefined ? createHttpServer() : createHttpsServer(tls);
    const sockets = new WebSocketServer({
      noServer: true,
      autoPong: autoPong ?? true,
      perMessageDeflate: false,
      handleProtocols: (offered) => protocols.find((name) => offered.has(name)) ?? false,
    });
    this.#server.on(tls === undefined ? 'connection' : 'secureConnection', (socket: Socket) => {
      this.sockets.add(socket);
      socket.on('error', () => undefined);
      socket.once('close', () => this.sockets.delete(socket));
    });
    this.#server.on('request', (request, response) => this.onRead(request, response));
    this.#server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
      this.requests.push(request);
      const refusal = this.#refusals.shift();
      if (refusal !== undefined) return refusal(socket, request);
      return sockets.handleUpgrade(request, socket, head, (open) => this.#accept(new StreamPeer(open, request)));
    });
  }

  static async start(options: StreamServerOptions = {}): Promise<StreamServer> {
    const server = new StreamServer(options);
    await new Promise<void>((resolve) => server.#server.listen(0, '127.0.0.1', resolve));
    return server;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `${this.#scheme}://127.0.0.1:${this.port}`;
  }

  /** Returns the next connection that was or will be accepted. */
  async peer(): Promise<StreamPeer> {
    const peer = this.#peers.shift();
    return peer ?? (await new Promise((resolve) => (this.#waiting = resolve)));
  }

  /** Makes the server answer the next upgrades with these refusals, one each. */
  refuse(...answers: Refusal[]): this {
    this.#refusals.push(...answers);
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  #accept(peer: StreamPeer): void {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (waiting === undefined) this.#peers.push(peer);
    else waiting(peer);
  }
}

/** Answers an upgrade with an ordinary response. */
export function plainAnswer(code: number, body: object | string, headers: Record<string, string> = {}): Refusal {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const type = typeof body === 'string' ? 'text/plain' : 'application/json';
  const all = { 'content-type': type, 'content-length': String(Buffer.byteLength(text)), ...headers };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return (socket) => void socket.end(`HTTP/1.1 ${code} X\r\nconnection: close\r\n${lines.join('')}\r\n${text}`);
}
