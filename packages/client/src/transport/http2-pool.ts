// The HTTP/2 connections to one server with one set of certificates. Calls and streams share a connection; a full one gets a sibling, as in
// Go's transport. Undici serves a server that chooses HTTP/1.1. Used by connection-pool.ts.
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { type Clock, delay } from '@kapstan/api';
import { untilAborted } from './attempt-loop.ts';
import { failure, Http2Connection, NotProcessed } from './http2-connection.ts';
import type { Http2Limits } from './http2-health.ts';
import type { ReceivedAnswer, Sender, SentRequest } from './sender.ts';

export interface Http2PoolOptions {
  readonly origin: string;
  readonly clock: Clock;
  readonly limits: Http2Limits;
  /** Opens a connection that offers HTTP/2 and HTTP/1.1. */
  readonly dial: (signal: AbortSignal) => Promise<Socket>;
  /** Sends calls while the server speaks HTTP/1.1. */
  readonly http1: Sender;
  /** Uniform in [0, 1). Default Math.random. */
  readonly random?: () => number;
}

// A request that the server did not process is sent again at once, then after 1, 2, 4, … seconds.
// Source: Go net/http http2Transport.RoundTripOpt.
const maxResends = 6;
const resendMs = 1000;
/** After this time a server that chose HTTP/1.1 is offered HTTP/2 again, in milliseconds. */
const http1Ms = 300_000;

/** A connection that is being opened, shared by all who wait for it. */
interface Dialing {
  readonly done: Promise<void>;
  readonly abort: AbortController;
  waiting: number;
}

export class Http2Pool implements Sender {
  readonly #options: Http2PoolOptions;
  /** Connections that take requests, the oldest first. */
  readonly #open = new Set<Http2Connection>();
  /** Connections that only finish requests in progress. */
  readonly #leaving = new Set<Http2Connection>();
  #dialing: Dialing | undefined;
  #isHttp1UntilMs = Number.NEGATIVE_INFINITY;
  #isClosed = false;
  #isDestroyed = false;
  /** Requests whose answers have not begun. */
  #sending = 0;
  #onSent: (() => void) | undefined;

  constructor(options: Http2PoolOptions) {
    this.#options = options;
  }

  request(options: SentRequest): Promise<ReceivedAnswer> {
    return this.send(options, () => this.#options.http1);
  }

  /** Sends a request; `http1` returns the sender to use if the server does not speak HTTP/2. */
  async send(request: SentRequest, http1: () => Sender): Promise<ReceivedAnswer> {
    if (this.#isClosed) throw closedError();
    this.#sending++;
    try {
      return await this.#send(request, http1);
    } finally {
      if (--this.#sending === 0) this.#onSent?.();
    }
  }

  async #send(request: SentRequest, http1: () => Sender): Promise<ReceivedAnswer> {
    for (let resends = 0; ; resends++) {
      try {
        const connection = await this.#reserve(request.signal);
        if (connection === undefined) return await http1().request(request);
        return await connection.send(request);
      } catch (error) {
        if (!(error instanceof NotProcessed)) throw error;
        if (resends === maxResends) throw error.cause;
      }
      await this.#pause(resends, request.signal);
    }
  }

  /** Accepts no more requests; resolves when all are over. */
  async close(): Promise<void> {
    this.#isClosed = true;
    // Requests that wait for a connection still get one.
    if (this.#sending > 0)
      await new Promise<void>((resolve) => {
        this.#onSent = resolve;
      });
    await Promise.all([...this.#all()].map((one) => one.close()));
  }

  async destroy(): Promise<void> {
    this.#isClosed = true;
    this.#isDestroyed = true;
    this.#dialing?.abort.abort(closedError());
    await Promise.all([...this.#all()].map((one) => one.destroy()));
  }

  *#all(): Iterable<Http2Connection | Sender> {
    yield* this.#open;
    yield* this.#leaving;
    yield this.#options.http1;
  }

  /** Returns a connection with a place for one request; undefined when the server chose HTTP/1.1. */
  async #reserve(signal: AbortSignal): Promise<Http2Connection | undefined> {
    for (;;) {
      signal.throwIfAborted();
      if (this.#isDestroyed) throw closedError();
      for (const connection of this.#open) {
        if (!connection.hasRoom) continue;
        connection.reserve();
        return connection;
      }
      if (this.#options.clock.monotonicNow() < this.#isHttp1UntilMs) return undefined;
      await this.#untilDialed(signal);
    }
  }

  /** Waits for one more connection, whose opening ends when nobody waits for it any more. */
  async #untilDialed(signal: AbortSignal): Promise<void> {
    this.#dialing ??= this.#dial();
    const dialing = this.#dialing;
    dialing.waiting++;
    try {
      await untilAborted(dialing.done, signal);
    } finally {
      if (--dialing.waiting === 0) {
        if (this.#dialing === dialing) this.#dialing = undefined;
        dialing.abort.abort(closedError());
      }
    }
  }

  #dial(): Dialing {
    const abort = new AbortController();
    const done = this.#connect(abort.signal).finally(() => {
      if (this.#dialing === dialing) this.#dialing = undefined;
    });
    const dialing = { done, abort, waiting: 0 };
    return dialing;
  }

  async #connect(signal: AbortSignal): Promise<void> {
    const { dial, origin, clock, limits } = this.#options;
    const socket = await dial(signal);
    if ((socket as TLSSocket).alpnProtocol !== 'h2') {
      // Undici opens its own connection, which offers only HTTP/1.1.
      socket.destroy();
      this.#isHttp1UntilMs = clock.monotonicNow() + http1Ms;
      return;
    }
    const end = (): void => void socket.destroy(signal.reason);
    signal.addEventListener('abort', end, { once: true });
    try {
      const connection = await Http2Connection.open({
        ...{ origin, socket, clock, limits },
        onLeaving: (leaving) => {
          if (this.#open.delete(leaving)) this.#leaving.add(leaving);
        },
        onClosed: (closed) => {
          this.#open.delete(closed);
          this.#leaving.delete(closed);
        },
      });
      if (!connection.hasRoom) {
        void connection.close();
        throw new NotProcessed(failure('ECONNRESET', 'the server takes no requests on a new HTTP/2 connection'));
      }
      this.#open.add(connection);
    } finally {
      signal.removeEventListener('abort', end);
    }
  }

  async #pause(resends: number, signal: AbortSignal): Promise<void> {
    const { clock, random = Math.random } = this.#options;
    if (resends > 0) await delay(clock, resendMs * 2 ** (resends - 1) * (1 + random() / 10), signal);
  }
}

/** Sends one stream over the shared connections, or over a separate HTTP/1.1 connection. */
export class Http2StreamSender implements Sender {
  readonly #pool: Http2Pool;
  readonly #createHttp1: () => Sender;
  #http1: Sender | undefined;

  constructor(pool: Http2Pool, createHttp1: () => Sender) {
    this.#pool = pool;
    this.#createHttp1 = createHttp1;
  }

  request(options: SentRequest): Promise<ReceivedAnswer> {
    return this.#pool.send(options, () => {
      this.#http1 ??= this.#createHttp1();
      return this.#http1;
    });
  }

  async close(): Promise<void> {
    await this.#http1?.close();
  }

  /** Ends only HTTP/1.1 connections, because a stream over HTTP/2 ends with the signal of its request. */
  async destroy(): Promise<void> {
    await this.#http1?.destroy();
  }
}

function closedError(): Error {
  return Object.assign(new Error('the connections to the server were closed'), { code: 'ECONNRESET' });
}
