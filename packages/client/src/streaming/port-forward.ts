// Forwards local ports to ports of a pod with listeners and, for each connection, a separate WebSocket, because the
// protocol carries one connection for each port. A failed connection does not affect the others.
import { createServer, isIP, type Server, type Socket } from 'node:net';
import { type Duplex, pipeline } from 'node:stream';
import { inspect } from 'node:util';
import type { CallOptions } from '@kapstan/api';
import { addAbortListener, removeAbortListener } from '@kapstan/api/internal';
import { type PortSpec, parsePortSpec } from './port-spec.ts';

/** `timeoutMs` bounds how long the server may take to accept one connection; `signal` ends the whole forward. */
export interface PortForwardOptions extends CallOptions {
  /** "8080" or 8080 (the same on both sides), "8888:80", ":80" (any free local port). At least one. */
  readonly ports: readonly (string | number)[];
  /**
   * Addresses to listen on: IP addresses, or "localhost" for 127.0.0.1 and ::1, of which at least one must work.
   * Default localhost.
   */
  readonly addresses?: readonly string[];
  /** Called with the reason when a connection breaks or cannot be opened. Default: the client's logger. */
  readonly onConnectionError?: (error: Error, port: ForwardedPort) => void;
}

/** A port of a pod that is forwarded. */
export interface ForwardedPort {
  readonly address: string;
  readonly local: number;
  readonly remote: number;
}

type PortDialer = (port: number, signal: AbortSignal) => Promise<Duplex>;

/** Ends listeners and connections; those being opened reject with the reason. */
export type EndForward = (reason: unknown) => Promise<void>;

interface PortForwardInit {
  readonly dial: PortDialer;
  /** Called once, before anything listens; its rejection is passed on. */
  readonly check: () => Promise<void>;
  /** Functions that end the client's port-forwards; this one is in the set from its start to its end. */
  readonly ends: Set<EndForward>;
  readonly options: PortForwardOptions;
  readonly onConnectionError: (error: Error, port: ForwardedPort) => void;
}

/**
 * Connections to ports of a pod.
 *
 * @example
 * ```ts
 * import { connect } from '@kapstan/client';
 *
 * const client = await connect();
 * await using forward = await client.portForward({ name: 'web', namespace: 'default' }, { ports: [':80'] });
 * const [{ local } = { local: 0 }] = forward.ports;
 * console.log(await (await fetch(`http://127.0.0.1:${local}/`)).text());
 * ```
 */
export class PortForward {
  readonly #init: PortForwardInit;
  readonly #controller: AbortController = new AbortController();
  readonly #servers: Server[] = [];
  readonly #sockets: Set<Socket> = new Set();
  readonly #ports: ForwardedPort[] = [];
  readonly #end: EndForward = (reason) => {
    this.#ending ??= this.#endAll(reason);
    return this.#ending;
  };
  readonly #onAbort = (): void => void this.#end(this.#init.options.signal?.reason);
  /** Never rejects; opened listeners are in `#servers`. */
  #listening: Promise<unknown> | undefined;
  #ending: Promise<void> | undefined;

  private constructor(init: PortForwardInit) {
    this.#init = init;
  }

  /** Rejects with TypeError for a wrong specification, with the error of a failed check, and with an Error when no port could be opened. */
  static async listen(init: PortForwardInit): Promise<PortForward> {
    const { ports, addresses = ['localhost'], signal } = init.options;
    requireList(ports, 'ports');
    requireList(addresses, 'addresses');
    if (ports.length === 0) throw new TypeError('you must specify at least 1 port');
    if (addresses.length === 0) throw new TypeError('you must specify at least 1 address');
    const specs = ports.map(parsePortSpec);
    const hosts = addresses.map(parseAddress);
    signal?.throwIfAborted();
    const forward = new PortForward(init);
    init.ends.add(forward.#end);
    addAbortListener(signal, forward.#onAbort);
    try {
      await init.check();
      await forward.#listenOnAll(specs, hosts);
      return forward;
    } catch (error) {
      await forward.close();
      throw error;
    }
  }

  /** The open listeners, with the ports that were chosen. */
  get ports(): readonly ForwardedPort[] {
    return this.#ports;
  }

  /** Ends listeners and connections. Idempotent: all callers wait for the same end. */
  async close(): Promise<void> {
    await this.#end(new Error('the port-forward is closed'));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #endAll(reason: unknown): Promise<void> {
    const { ends, options } = this.#init;
    ends.delete(this.#end);
    removeAbortListener(options.signal, this.#onAbort);
    this.#controller.abort(reason);
    for (const socket of this.#sockets) resetOrDestroy(socket);
    const servers = this.#servers.splice(0);
    await Promise.all([this.#listening, ...servers.map(closeServer)]);
  }

  // A caller that ends the forward meanwhile waits until the listener that is being opened is closed again.
  async #listenOnAll(specs: readonly PortSpec[], hosts: readonly (readonly string[])[]): Promise<void> {
    const { signal } = this.#controller;
    for (const spec of specs) {
      signal.throwIfAborted();
      const listening = this.#listenOnAny(spec, hosts);
      this.#listening = listening.catch(() => undefined);
      await listening;
    }
    signal.throwIfAborted();
  }

  // As in client-go, every address is tried, one success is enough, and a free port is the same on all addresses.
  async #listenOnAny({ local, remote }: PortSpec, hosts: readonly (readonly string[])[]): Promise<void> {
    const failures: Error[] = [];
    let chosen = local;
    let listening = 0;
    for (const address of hosts.flat()) {
      this.#controller.signal.throwIfAborted();
      try {
        chosen = await this.#listen({ address, local: chosen, remote });
        listening++;
      } catch (error) {
        failures.push(error as Error);
      }
    }
    if (listening > 0) return;
    this.#controller.signal.throwIfAborted();
    const reasons = failures.map((error) => error.message).join(', ');
    throw new Error(`unable to listen on any of the requested ports: ${local}:${remote}: ${reasons}`, {
      cause: new AggregateError(failures),
    });
  }

  #listen({ address, local, remote }: ForwardedPort): Promise<number> {
    return new Promise((resolve, reject) => {
      // The pod may still answer after the local side has finished writing.
      const server = createServer({ allowHalfOpen: true, noDelay: true });
      server.once('error', reject);
      server.listen(local, address, () => {
        const { signal } = this.#controller;
        if (signal.aborted) return void server.close(() => reject(signal.reason));
        const bound = server.address();
        const port = { address, local: typeof bound === 'object' && bound !== null ? bound.port : local, remote };
        server.on('connection', (socket) => void this.#forward(socket, port));
        this.#servers.push(server);
        this.#ports.push(port);
        resolve(port.local);
      });
    });
  }

  async #forward(socket: Socket, port: ForwardedPort): Promise<void> {
    const leaving = new AbortController();
    const leave = (): void => leaving.abort(new Error('the local side left'));
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
    // "close" reports an error before the pipeline is set up; afterwards the pipeline does.
    socket.on('error', () => undefined);
    socket.once('close', leave);
    try {
      const signal = AbortSignal.any([this.#controller.signal, leaving.signal]);
      const remote = await this.#init.dial(port.remote, signal);
      pipeline(socket, remote, socket, (error) => {
        if (error) this.#report(error, port);
        // Resets the socket, so that the reader does not take a broken connection for the end of an answer.
        if (error) resetOrDestroy(socket);
      });
    } catch (error) {
      if (!leaving.signal.aborted) this.#report(error as Error, port);
      resetOrDestroy(socket);
    }
  }

  // A side that leaves does so on purpose, so that is not an error.
  #report(error: Error, port: ForwardedPort): void {
    const { code } = error as NodeJS.ErrnoException;
    if (this.#controller.signal.aborted || code === 'ERR_STREAM_PREMATURE_CLOSE') return;
    this.#init.onConnectionError(error, port);
  }
}

function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => server.close(() => resolve()));
}

function parseAddress(address: string): readonly string[] {
  if (address === 'localhost') return ['127.0.0.1', '::1'];
  if (isIP(address) !== 0) return [address];
  throw new TypeError(`${address} is not a valid IP`);
}

/**
 * Resets the socket. While libuv is shutting it down, it would refuse the reset and Node would never close it, so the socket is destroyed
 * instead; by then everything has been sent.
 */
function resetOrDestroy(socket: Socket): void {
  const isShuttingDown = socket.writableEnded && !socket.writableFinished && socket.writableLength === 0;
  if (isShuttingDown) socket.destroy();
  else socket.resetAndDestroy();
}

function requireList(value: unknown, name: string): void {
  if (!Array.isArray(value)) throw new TypeError(`${name} takes a list, such as ['8080:80'], not ${inspect(value)}`);
}
