// The undici pool of one cluster and one identity. New certificates get a new pool; the old one drains.
import { type Dispatcher, Pool, ProxyAgent } from 'undici';
import type { TlsConfig } from '../tls-config.ts';
import type { TlsMaterial, TlsTexts } from './tls-material.ts';

export interface ConnectionPoolOptions {
  readonly server: URL;
  readonly tls: TlsConfig;
  readonly material: TlsMaterial;
  readonly proxyUrl: string | undefined;
}

// Source of the figures: spec/client.md §8.2. Idle time is Go's default; a shorter Keep-Alive hint of the server wins.
const connectTimeoutMs = 30_000;
const tcpKeepAliveMs = 30_000;
const idleMs = 90_000;

export class ConnectionPool {
  readonly #options: ConnectionPoolOptions;
  #current: { readonly texts: TlsTexts; readonly dispatcher: Dispatcher } | undefined;
  readonly #open = new Set<Dispatcher>();
  #isClosed = false;

  constructor(options: ConnectionPoolOptions) {
    this.#options = options;
  }

  /** The pool for the next request. Rejects when certificates cannot be had, or after {@link close}. */
  async dispatcher(): Promise<Dispatcher> {
    const texts = await this.#options.material.load();
    return this.#dispatcherFor(texts);
  }

  /** Ends every connection, busy ones too. Idempotent. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const open = [...this.#open];
    this.#open.clear();
    await Promise.all(open.map((dispatcher) => dispatcher.destroy()));
  }

  // Atomic: concurrent requests after a rotation share one new pool.
  #dispatcherFor(texts: TlsTexts): Dispatcher {
    if (this.#isClosed) throw new TypeError('the client is closed');
    const current = this.#current;
    if (current !== undefined && isSame(current.texts, texts)) return current.dispatcher;
    const dispatcher = this.#create(texts);
    this.#open.add(dispatcher);
    this.#current = { texts, dispatcher };
    if (current !== undefined) this.#retire(current.dispatcher);
    return dispatcher;
  }

  #retire(dispatcher: Dispatcher): void {
    const forget = (): void => {
      this.#open.delete(dispatcher);
    };
    // Open watches go on until they end by themselves; a pool destroyed meanwhile by close() is gone as well.
    dispatcher.close().then(forget, forget);
  }

  #create(texts: TlsTexts): Dispatcher {
    const { server, tls, proxyUrl } = this.#options;
    const connect = {
      timeout: connectTimeoutMs,
      keepAlive: true,
      keepAliveInitialDelay: tcpKeepAliveMs,
      minVersion: 'TLSv1.2' as const,
      rejectUnauthorized: tls.insecureSkipVerify !== true,
      ...(texts.ca === undefined ? {} : { ca: texts.ca }),
      ...(texts.cert === undefined ? {} : { cert: texts.cert }),
      ...(texts.key === undefined ? {} : { key: texts.key }),
      ...(tls.serverName ? { servername: tls.serverName } : {}),
    };
    // Deadlines are the transport's own, on its clock; streams have none.
    const timeouts = { headersTimeout: 0, bodyTimeout: 0, keepAliveTimeout: idleMs, keepAliveMaxTimeout: idleMs };
    if (proxyUrl === undefined) return new Pool(server.origin, { ...timeouts, connect, pipelining: 1 });
    const { timeout: _, ...requestTls } = connect;
    return new ProxyAgent({ ...timeouts, uri: proxyUrl, requestTls, connectTimeout: connectTimeoutMs });
  }
}

function isSame(a: TlsTexts, b: TlsTexts): boolean {
  return a.ca === b.ca && a.cert === b.cert && a.key === b.key;
}
