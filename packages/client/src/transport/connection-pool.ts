// The connections of one cluster and one identity: an undici pool for calls, a connection of its own for each stream.
// New certificates get a new pool; the old one drains.
import type { Socket } from 'node:net';
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
}

// Source of the figures: client-go transport/cache.go. Idle time is Go's default; a shorter Keep-Alive hint of the server wins.
const connectTimeoutMs = 30_000;
const tcpKeepAliveMs = 30_000;
const idleMs = 90_000;
// Deadlines are the transport's own, on its clock; streams have none.
const timeouts = { headersTimeout: 0, bodyTimeout: 0, keepAliveTimeout: idleMs, keepAliveMaxTimeout: idleMs };

/** What is made of one set of certificates. */
interface Generation {
  readonly texts: TlsTexts;
  readonly connect: ReturnType<typeof buildConnector>;
  readonly pool: Dispatcher;
}

export class ConnectionPool {
  readonly #options: ConnectionPoolOptions;
  #current: Generation | undefined;
  readonly #open = new Set<Dispatcher>();
  readonly #upgraded = new Set<Socket>();
  #isClosed = false;

  constructor(options: ConnectionPoolOptions) {
    this.#options = options;
  }

  /** The pool for the next call. Rejects when certificates cannot be had, or after {@link close}. */
  async forCall(): Promise<Dispatcher> {
    return this.#generation(await this.#options.material.load()).pool;
  }

  /**
   * A connection for one stream; give it to {@link release} when that is over. Rejects as {@link forCall}. Not of the
   * pool, because undici connects anew, for nothing, when a request that runs is aborted; with HTTP/1.1 a stream fills
   * its connection anyway.
   */
  async forStream(): Promise<Dispatcher> {
    const { connect, texts } = this.#generation(await this.#options.material.load());
    const { proxyUrl } = this.#options;
    const dispatcher =
      proxyUrl === undefined || isSocks(proxyUrl)
        ? new Client(this.#options.server.origin, { ...timeouts, connect })
        : this.#proxy(texts, proxyUrl);
    this.#open.add(dispatcher);
    return dispatcher;
  }

  /**
   * The way to a bare connection, for an upgrade; it belongs to the caller, {@link close} ends it too. Rejects as
   * {@link forCall}; network errors come from the second step.
   */
  async forUpgrade(): Promise<(signal: AbortSignal) => Promise<Socket>> {
    const { connect } = this.#generation(await this.#options.material.load());
    return async (signal) => {
      const { server, proxyUrl } = this.#options;
      const isHttpProxy = proxyUrl !== undefined && !isSocks(proxyUrl);
      const httpSocket = isHttpProxy ? await proxyTunnel({ proxyUrl, server, signal }) : undefined;
      const isDone = httpSocket !== undefined && server.protocol === 'http:';
      const socket = isDone ? httpSocket : await this.#dial(connect, { httpSocket, signal });
      if (this.#isClosed) socket.destroy(closedError());
      this.#upgraded.add(socket);
      socket.once('close', () => this.#upgraded.delete(socket));
      return socket;
    };
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

  /** Ends the connection of a stream. */
  release(dispatcher: Dispatcher): void {
    const forget = (): void => {
      this.#open.delete(dispatcher);
    };
    dispatcher.destroy().then(forget, forget);
  }

  /** Ends every connection, busy ones too. Idempotent. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const socket of this.#upgraded) socket.destroy(closedError());
    const open = [...this.#open];
    this.#open.clear();
    await Promise.all(open.map((dispatcher) => dispatcher.destroy()));
  }

  // Atomic: concurrent requests after a rotation share one new pool.
  #generation(texts: TlsTexts): Generation {
    if (this.#isClosed) throw new TypeError('the client is closed');
    const current = this.#current;
    if (current !== undefined && isSame(current.texts, texts)) return current;
    const created = this.#create(texts);
    this.#open.add(created.pool);
    this.#current = created;
    if (current !== undefined) this.#retire(current.pool);
    return created;
  }

  #retire(pool: Dispatcher): void {
    const forget = (): void => {
      this.#open.delete(pool);
    };
    // Its calls come to their end; destroyed meanwhile by close() it is gone as well.
    pool.close().then(forget, forget);
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

function closedError(): Error {
  return Object.assign(new Error('the client is closed'), { code: 'ECANCELED' });
}

function isSame(a: TlsTexts, b: TlsTexts): boolean {
  return a.ca === b.ca && a.cert === b.cert && a.key === b.key;
}
