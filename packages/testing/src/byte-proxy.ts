// ByteProxy: a TCP proxy that can disturb connections as networks do. Placed in front of the HTTPS port of a test
// cluster.
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { type Clock, systemClock } from '@kapstan/api';
import { ByteLane } from './byte-lane.ts';
import type { Connection, ConnectionKind } from './connection.ts';

/** Options of a {@link ByteProxy}. */
export interface ByteProxyOptions {
  /** Returns the port on 127.0.0.1 that connections go to; called for each connection. */
  readonly targetPort: () => number;
  /** Port on 127.0.0.1 to listen on. 0 = any free port. Default 0. */
  readonly port?: number;
  /** Clock for delays. Default: the system's. */
  readonly clock?: Clock;
  /** Called with each new connection, before anything is forwarded. */
  readonly onConnection?: (connection: ProxyConnection) => void;
  /** Called whenever bytes were read or forwarded. */
  readonly onActivity?: () => void;
}

/**
 * Forwards bytes to a port of this machine until told otherwise. It does not inspect them: TLS passes through unchanged.
 *
 * @example
 * ```ts
 * import { connect } from '@kapstan/client';
 * import { ByteProxy } from '@kapstan/testing';
 *
 * await using proxy = await ByteProxy.start({ targetPort: () => 6443 });
 * await using client = await connect({ overrides: { cluster: { server: `https://127.0.0.1:${proxy.port}` } } });
 * proxy.blackhole(); // from here on nothing gets through, and no connection ends
 * proxy.resume();
 * ```
 */
export class ByteProxy {
  readonly #options: ByteProxyOptions;
  readonly #connections = new Set<ProxyConnection>();
  #server: Server | undefined;
  #port = 0;
  #isHeld = false;
  #delayMs = 0;

  private constructor(options: ByteProxyOptions) {
    this.#options = options;
  }

  /** Resolves when the proxy listens. */
  static async start(options: ByteProxyOptions): Promise<ByteProxy> {
    const proxy = new ByteProxy(options);
    proxy.#port = options.port ?? 0;
    await proxy.listen();
    return proxy;
  }

  get port(): number {
    return this.#port;
  }

  /** The open connections, the oldest first. */
  get connections(): readonly ProxyConnection[] {
    return [...this.#connections];
  }

  /** Delay of every chunk in both directions, for present and future connections, in milliseconds. 0 (default) = none. */
  get delayMs(): number {
    return this.#delayMs;
  }

  set delayMs(delayMs: number) {
    this.#delayMs = delayMs;
    for (const connection of this.#connections) connection.delayMs = delayMs;
  }

  /** Resets all open connections. New ones are served. */
  cut(): void {
    for (const connection of [...this.#connections]) connection.cut();
  }

  /** Stops forwarding but closes nothing: all connections, even new ones, are half-open until {@link resume}. */
  blackhole(): void {
    this.#isHeld = true;
    for (const connection of this.#connections) connection.hold();
  }

  /** Forwards again on every connection, beginning with bytes that arrived meanwhile, because TCP loses nothing. */
  resume(): void {
    this.#isHeld = false;
    for (const connection of this.#connections) connection.release();
  }

  /** Refuses new connections; open ones continue. Idempotent. */
  stopListening(): void {
    const server = this.#server;
    this.#server = undefined;
    // We do not wait for its callback, which waits for the open connections too.
    server?.close();
  }

  /** Accepts connections; after {@link stopListening} on the same port again. Idempotent. */
  async listen(): Promise<void> {
    if (this.#server !== undefined) return;
    const server = createServer({ allowHalfOpen: true, pauseOnConnect: true, noDelay: true }, (socket) =>
      this.#accept(socket),
    );
    this.#server = server;
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(this.#port, '127.0.0.1', resolve);
    });
    this.#port = (server.address() as AddressInfo).port;
  }

  /** Resets open connections and stops listening. Resolves when all sockets are gone (I9). Idempotent. */
  async close(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    const isClosed = server === undefined ? undefined : new Promise((resolve) => server.close(resolve));
    const ends = this.connections.map((connection) => connection.closed);
    this.cut();
    await Promise.all([isClosed, ...ends]);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #accept(client: Socket): void {
    const connection = new ProxyConnection(client, this.#options);
    this.#connections.add(connection);
    void connection.closed.then(() => this.#connections.delete(connection));
    connection.delayMs = this.#delayMs;
    if (this.#isHeld) connection.hold();
    this.#options.onConnection?.(connection);
    this.#options.onActivity?.();
    connection.start();
  }
}

/** One client's connection and the matching connection to the server. */
export class ProxyConnection implements Connection {
  kind: ConnectionKind = 'unknown';
  /** Resolves when both sockets are gone. */
  readonly closed: Promise<void>;
  readonly #client: Socket;
  readonly #server: Socket;
  readonly #lanes: readonly ByteLane[];
  #isHeld = false;
  #isCutWhenReleased = false;

  constructor(client: Socket, options: ByteProxyOptions) {
    const { clock = systemClock, onActivity: onBytes = () => undefined } = options;
    const server = connect({ port: options.targetPort(), host: '127.0.0.1', allowHalfOpen: true, noDelay: true });
    this.#client = client;
    this.#server = server;
    this.#lanes = [
      new ByteLane({ from: client, to: server, clock, onBytes }),
      new ByteLane({ from: server, to: client, clock, onBytes }),
    ];
    server.once('connect', onBytes);
    this.closed = Promise.all([client, server].map((socket) => this.#ended(socket, onBytes))).then(() => undefined);
  }

  /** Port of the connection to the server, as the server sees it; undefined until it is open. */
  get serverSidePort(): number | undefined {
    return this.#server.localPort;
  }

  get delayMs(): number {
    return this.#lanes[0]?.delayMs ?? 0;
  }

  set delayMs(delayMs: number) {
    for (const lane of this.#lanes) lane.delayMs = delayMs;
  }

  /** Starts to read from the client. */
  start(): void {
    if (!this.#isHeld) this.#client.resume();
  }

  cut(): void {
    for (const lane of this.#lanes) lane.close();
    resetOrDestroy(this.#client);
    resetOrDestroy(this.#server);
  }

  hold(): void {
    this.#isHeld = true;
    for (const lane of this.#lanes) lane.hold();
  }

  release(): void {
    if (!this.#isHeld) return;
    this.#isHeld = false;
    if (this.#isCutWhenReleased) this.cut();
    else for (const lane of this.#lanes) lane.release();
  }

  /** Resolves when a socket is closed. A side that breaks also breaks the other, unless the connection is held. */
  #ended(socket: Socket, onActivity: () => void): Promise<void> {
    let hasFailed = false;
    socket.on('error', () => {
      hasFailed = true;
    });
    return new Promise((resolve) => {
      socket.once('close', () => {
        onActivity();
        if (this.#isHeld) this.#isCutWhenReleased = true;
        else if (hasFailed || !socket.readableEnded) this.cut();
        resolve();
      });
    });
  }
}

/**
 * Resets the socket, or destroys it while libuv shuts it down: libuv refuses to reset it then, and Node would never close it. Everything
 * has been sent by then, so the receiver loses nothing.
 */
function resetOrDestroy(socket: Socket): void {
  const isShuttingDown = socket.writableEnded && !socket.writableFinished && socket.writableLength === 0;
  if (isShuttingDown) socket.destroy();
  else socket.resetAndDestroy();
}
