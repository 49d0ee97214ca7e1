// The connections of one cluster and one identity: an undici pool for calls, a connection of its own for each stream. Shared by
// equal clients (shared-pools.ts), each of which has a lease (pool-lease.ts). New certificates get a new pool; the old one drains.
import type { Socket } from 'node:net';
import type { CancelTimer, Clock } from '@kapstan/api';
import { buildConnector, Client, type Dispatcher, Pool, ProxyAgent } from 'undici';
import type { TlsConfig } from '../tls-config.ts';
import { isSocks } from './proxy.ts';
import { proxyTunnel } from './proxy-tunnel.ts';
import { socksTunnel } from './socks-tunnel.ts';
import type { TlsMaterial, TlsTexts } from './tls-material.ts';

export interface ConnectionPoolOptions {
  readonly server: URL;
  readonly tls: TlsConfig;
  readonly material: TlsMaterial;
  readonly proxyUrl: string | undefined;
  readonly clock: Clock;
}

// Source of the figures: client-go transport/cache.go. Idle time is Go's default; a shorter Keep-Alive hint of the server wins.
const connectTimeoutMs = 30_000;
const tcpKeepAliveMs = 30_000;
const idleMs = 90_000;
// How often a client certificate's files are looked at while nothing but streams is open. Source: client-go transport/cert_rotation.go.
const certificateCheckMs = 300_000;
// Deadlines are the transport's own, on its clock; streams have none.
const timeouts = { headersTimeout: 0, bodyTimeout: 0, keepAliveTimeout: idleMs, keepAliveMaxTimeout: idleMs };

/** What is made of one set of certificates. */
export interface Generation {
  readonly texts: TlsTexts;
  readonly connect: ReturnType<typeof buildConnector>;
  readonly pool: Dispatcher;
}

export class ConnectionPool {
  readonly #options: ConnectionPoolOptions;
  #current: Generation | undefined;
  readonly #draining = new Set<Dispatcher>();
  /** Each with what to do when the client certificate is replaced. */
  readonly #streams = new Map<Dispatcher, () => void>();
  #cancelCheck: CancelTimer | undefined;
  #isClosed = false;

  constructor(options: ConnectionPoolOptions) {
    this.#options = options;
  }

  /** What the next connection is made of; its `pool` is for calls. Rejects when certificates cannot be had, or after {@link close}. */
  async generation(): Promise<Generation> {
    return this.#generation(await this.#options.material.load());
  }

  /**
   * A connection for one stream; give it to {@link release} when that is over. Not of the pool, because undici connects
   * anew, for nothing, when a request that runs is aborted; with HTTP/1.1 a stream fills its connection anyway.
   * `onReplaced` is called when the client certificate has changed: the stream should end.
   */
  openStream(generation: Generation, onReplaced: () => void): Dispatcher {
    const { proxyUrl, server } = this.#options;
    const dispatcher =
      proxyUrl === undefined || isSocks(proxyUrl)
        ? new Client(server.origin, { ...timeouts, connect: generation.connect })
        : this.#proxy(generation.texts, proxyUrl);
    this.#streams.set(dispatcher, onReplaced);
    this.#checkLater();
    return dispatcher;
  }

  /** Ends the connection of a stream. */
  async release(dispatcher: Dispatcher): Promise<void> {
    this.#streams.delete(dispatcher);
    if (this.#streams.size === 0) this.#stopChecks();
    await dispatcher.destroy();
  }

  /** A bare connection, for an upgrade; it belongs to the caller. Rejects with network errors and the signal's reason. */
  async dial(generation: Generation, signal: AbortSignal): Promise<Socket> {
    const { server, proxyUrl } = this.#options;
    const isHttpProxy = proxyUrl !== undefined && !isSocks(proxyUrl);
    const httpSocket = isHttpProxy ? await proxyTunnel({ proxyUrl, server, signal }) : undefined;
    const isDone = httpSocket !== undefined && server.protocol === 'http:';
    return isDone ? httpSocket : await this.#dial(generation.connect, { httpSocket, signal });
  }

  #dial(connect: Generation['connect'], how: DialOptions): Promise<Socket> {
    const { protocol, hostname, host, port } = this.#options.server;
    const servername = this.#options.tls.serverName;
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        how.httpSocket?.destroy();
        reject(how.signal.reason);
      };
      how.signal.addEventListener('abort', onAbort, { once: true });
      const target = { protocol, hostname: hostname.replace(/^\[(.*)\]$/, '$1'), host, port };
      const over = how.httpSocket === undefined ? {} : { httpSocket: how.httpSocket };
      connect({ ...target, ...over, ...(servername ? { servername } : {}) }, (error, socket) => {
        how.signal.removeEventListener('abort', onAbort);
        if (how.signal.aborted) socket?.destroy();
        else if (error === null) resolve(socket);
        else reject(error);
      });
    });
  }

  /** Ends every connection, busy ones too, but for those of {@link dial}. Idempotent. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#stopChecks();
    const open = [
      ...this.#streams.keys(),
      ...this.#draining,
      ...(this.#current === undefined ? [] : [this.#current.pool]),
    ];
    this.#streams.clear();
    this.#draining.clear();
    this.#current = undefined;
    await Promise.all(open.map((dispatcher) => dispatcher.destroy()));
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
    // Its calls come to their end; destroyed meanwhile by close() it is gone as well.
    old.pool.close().then(forget, forget);
    // Who a stream is stays as it was when it connected; whom it trusts was settled then. Source: client-go
    // transport/cert_rotation.go closes connections for a new certificate, transport/ca_rotation.go only idle ones.
    if (old.texts.cert === texts.cert && old.texts.key === texts.key) return;
    const streams = [...this.#streams.values()];
    for (const onReplaced of streams) onReplaced();
  }

  // Without calls nobody would notice a new certificate.
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
    const { server, proxyUrl } = this.#options;
    // One connector for pool and streams: they share the cache of TLS sessions.
    const direct = buildConnector({ ...this.#tls(texts), timeout: connectTimeoutMs });
    const connect = proxyUrl !== undefined && isSocks(proxyUrl) ? overSocks(proxyUrl, server, direct) : direct;
    const pool =
      connect !== direct || proxyUrl === undefined
        ? new Pool(server.origin, { ...timeouts, connect, pipelining: 1 })
        : this.#proxy(texts, proxyUrl);
    return { texts, connect, pool };
  }

  #proxy(texts: TlsTexts, uri: string): Dispatcher {
    return new ProxyAgent({ ...timeouts, uri, requestTls: this.#tls(texts), connectTimeout: connectTimeoutMs });
  }

  #tls(texts: TlsTexts): buildConnector.BuildOptions {
    const { tls } = this.#options;
    return {
      keepAlive: true,
      keepAliveInitialDelay: tcpKeepAliveMs,
      minVersion: 'TLSv1.2',
      rejectUnauthorized: tls.insecureSkipVerify !== true,
      ...(texts.ca === undefined ? {} : { ca: texts.ca }),
      ...(texts.cert === undefined ? {} : { cert: texts.cert }),
      ...(texts.key === undefined ? {} : { key: texts.key }),
      ...(tls.serverName ? { servername: tls.serverName } : {}),
    };
  }
}

/** Connects through the proxy first; TLS is with the server behind it. */
function overSocks(proxyUrl: string, server: URL, direct: Generation['connect']): Generation['connect'] {
  return (options, callback) => {
    const connected = (httpSocket: Socket): void => {
      if (server.protocol === 'http:') callback(null, httpSocket);
      else direct({ ...options, httpSocket }, callback);
    };
    const tunnel = socksTunnel({ proxyUrl, server, timeoutMs: connectTimeoutMs });
    tunnel.then(connected, (error: Error) => callback(error, null));
  };
}

interface DialOptions {
  readonly httpSocket: Socket | undefined;
  readonly signal: AbortSignal;
}

function isSame(a: TlsTexts, b: TlsTexts): boolean {
  return a.ca === b.ca && a.cert === b.cert && a.key === b.key;
}
