// The connections of one cluster and one identity: an undici pool for calls and a separate connection for each stream, or HTTP/2
// connections for both (http2-pool.ts). Equal clients share it (shared-pools.ts), each with a lease (pool-lease.ts). New certificates get
// new connections; the old ones drain.
import type { Socket } from 'node:net';
import type { CancelTimer, Clock } from '@kapstan/api';
import type { TlsConfig } from '../connection/tls-config.ts';
import { type BuildConnector, Client, type Dispatcher, Pool } from '../connection/undici.ts';
import { callBeforeSend } from './before-send.ts';
import { type Connect, connectorOf } from './connector.ts';
import type { Http2Limits } from './http2-health.ts';
import { Http2Pool, Http2StreamSender } from './http2-pool.ts';
import type { Sender } from './sender.ts';
import type { TlsMaterial, TlsTexts } from './tls-material.ts';

export interface ConnectionPoolOptions {
  readonly server: URL;
  readonly tls: TlsConfig;
  readonly material: TlsMaterial;
  readonly proxyUrl: string | undefined;
  readonly clock: Clock;
  /** Limits of HTTP/2 connections; undefined: HTTP/1.1 alone. */
  readonly http2: Http2Limits | undefined;
}

// Go's default; a shorter Keep-Alive of the server takes precedence. Source: client-go transport/cache.go.
const idleMs = 90_000;
// Interval at which the client certificate's files are checked while only streams are open. Source: client-go transport/cert_rotation.go.
const certificateCheckMs = 300_000;
// The transport has its own deadlines, on its clock; streams have none.
const timeouts = { headersTimeout: 0, bodyTimeout: 0, keepAliveTimeout: idleMs, keepAliveMaxTimeout: idleMs };

/** Everything that belongs to one set of certificates. */
export interface Generation {
  readonly texts: TlsTexts;
  /** Opens connections for HTTP/1.1. */
  readonly connect: Connect;
  readonly pool: Sender;
}

export class ConnectionPool {
  readonly #options: ConnectionPoolOptions;
  #current: Generation | undefined;
  readonly #draining = new Set<Sender>();
  readonly #streams = new Map<Sender, StreamEntry>();
  /** Ends connections that are still opening and that no particular call waits for. */
  readonly #closing = new AbortController();
  #cancelCheck: CancelTimer | undefined;
  #isClosed = false;

  constructor(options: ConnectionPoolOptions) {
    this.#options = options;
  }

  /**
   * Returns the material for the next connection; its `pool` is for calls. Rejects when certificates cannot be loaded, or after {@link
   * close}.
   */
  async generation(): Promise<Generation> {
    return this.#generation(await this.#options.material.load());
  }

  /**
   * Returns the sender for one stream; pass it to {@link release} afterwards. With HTTP/1.1 it is a separate connection, not one of the
   * pool: a stream occupies its connection anyway, and undici reconnects needlessly when a running request is aborted. `onReplaced` is
   * called when the client certificate has changed and the stream should end.
   */
  openStream(generation: Generation, onReplaced: () => void): Sender {
    const connecting = new AbortController();
    const createHttp1 = (): Sender => {
      const connect: BuildConnector.connector = (options, callback) =>
        generation.connect(options, connecting.signal, callback);
      return new Client(this.#options.server.origin, { ...timeouts, connect }).compose(callBeforeSend);
    };
    const { pool } = generation;
    const sender = pool instanceof Http2Pool ? new Http2StreamSender(pool, createHttp1) : createHttp1();
    this.#streams.set(sender, { onReplaced, connecting });
    this.#checkLater();
    return sender;
  }

  /** Closes the connection of a stream, if it is not shared. */
  async release(sender: Sender): Promise<void> {
    this.#streams.get(sender)?.connecting.abort();
    this.#streams.delete(sender);
    if (this.#streams.size === 0) this.#stopChecks();
    await sender.destroy();
  }

  /** Opens a bare connection for an upgrade; it belongs to the caller. Rejects with network errors and the signal's reason. */
  dial({ connect }: Generation, signal: AbortSignal): Promise<Socket> {
    return this.#dial(connect, signal);
  }

  /** Closes every connection, even busy ones, except those of {@link dial}. Idempotent. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#stopChecks();
    this.#closing.abort();
    for (const { connecting } of this.#streams.values()) connecting.abort();
    const open = [
      ...this.#streams.keys(),
      ...this.#draining,
      ...(this.#current === undefined ? [] : [this.#current.pool]),
    ];
    this.#streams.clear();
    this.#draining.clear();
    this.#current = undefined;
    await Promise.all(open.map((sender) => sender.destroy()));
  }

  // Atomic: concurrent requests after a rotation share one new pool.
  #generation(texts: TlsTexts): Generation {
    if (this.#isClosed) throw new TypeError('the client is closed');
    const current = this.#current;
    if (current !== undefined && isSame(current.texts, texts)) return current;
    const created = this.#create(texts);
    this.#current = created;
    if (current !== undefined) this.#retire(current, created);
    return created;
  }

  #retire(old: Generation, { texts }: Generation): void {
    this.#draining.add(old.pool);
    const forget = (): void => {
      this.#draining.delete(old.pool);
    };
    // Calls of the old pool run to their end. If close() destroys it first, it is forgotten too.
    old.pool.close().then(forget, forget);
    // A stream keeps the identity and the trust in the server from its connect, so only a new certificate ends streams. Source: client-go
    // transport/cert_rotation.go closes connections for a new certificate, transport/ca_rotation.go only idle ones.
    if (old.texts.cert === texts.cert && old.texts.key === texts.key) return;
    const streams = [...this.#streams.values()].map(({ onReplaced }) => onReplaced);
    for (const onReplaced of streams) onReplaced();
  }

  // While there are no calls, nothing else would notice a new certificate.
  #checkLater(): void {
    const isNeeded = this.#streams.size > 0 && this.#options.material.hasCertificateFiles;
    if (!isNeeded || this.#cancelCheck !== undefined) return;
    this.#cancelCheck = this.#options.clock.setBackgroundTimer(() => void this.#check(), certificateCheckMs);
  }

  async #check(): Promise<void> {
    this.#cancelCheck = undefined;
    const texts = await this.#options.material.load();
    if (this.#streams.size === 0) return;
    this.#generation(texts);
    this.#checkLater();
  }

  #stopChecks(): void {
    this.#cancelCheck?.();
    this.#cancelCheck = undefined;
  }

  #create(texts: TlsTexts): Generation {
    const { server, proxyUrl, tls, clock, http2 } = this.#options;
    // Pool and streams share one connector, and therefore its cache of TLS sessions.
    const way = { server, proxyUrl, texts, serverName: tls.serverName, isInsecure: tls.insecureSkipVerify === true };
    const connect = connectorOf({ ...way, offersHttp2: false });
    const http1 = this.#pool(connect);
    // A server without TLS speaks HTTP/1.1, as with Go's transport.
    if (http2 === undefined || server.protocol !== 'https:') return { texts, connect, pool: http1 };
    const connectHttp2 = connectorOf({ ...way, offersHttp2: true });
    const dial = (signal: AbortSignal): Promise<Socket> => this.#dial(connectHttp2, signal);
    return { texts, connect, pool: new Http2Pool({ origin: server.origin, clock, limits: http2, dial, http1 }) };
  }

  #dial(connect: Connect, signal: AbortSignal): Promise<Socket> {
    const { protocol, hostname, host, port } = this.#options.server;
    const target = { protocol, hostname: hostname.replace(/^\[(.*)\]$/, '$1'), host, port };
    return new Promise((resolve, reject) => {
      connect(target, signal, (error, socket) => {
        if (error !== null) return reject(signal.aborted ? signal.reason : error);
        if (!signal.aborted) return resolve(socket);
        socket.destroy();
        reject(signal.reason);
      });
    });
  }

  // Invariant: undici connects during the dispatch of the one call that needs the connection (pipelining 1), unless an idle connection
  // broke; it drops the connection with the connection's error.
  #pool(connect: Connect): Sender {
    let caller: AbortSignal | undefined;
    const connectForCaller: BuildConnector.connector = (options, callback) =>
      connect(options, caller ?? this.#closing.signal, callback);
    const pool = new Pool(this.#options.server.origin, { ...timeouts, connect: connectForCaller, pipelining: 1 });
    return pool.compose(callBeforeSend, (dispatch) => (options: Dispatcher.DispatchOptions & CallSignal, handler) => {
      caller = options.signal;
      try {
        return dispatch(options, handler);
      } finally {
        caller = undefined;
      }
    });
  }
}

interface StreamEntry {
  /** Called when the client certificate is replaced. */
  readonly onReplaced: () => void;
  readonly connecting: AbortController;
}

/** request() passes its signal on, although the type of its options does not include it. */
interface CallSignal {
  readonly signal?: AbortSignal;
}

function isSame(a: TlsTexts, b: TlsTexts): boolean {
  return a.ca === b.ca && a.cert === b.cert && a.key === b.key;
}
