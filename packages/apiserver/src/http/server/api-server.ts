// startApiServer makes a server of a catalog: the chain of request-chain.ts behind the sockets of http-server.ts.
import type { IncomingMessage } from 'node:http';
import type { ClientAuthorities } from '../../authn/client-verification.ts';
import { sharePatternThread } from '../../validation/pattern-jobs.ts';
import { parseRequestUrl } from '../exchange/request-url.ts';
import { isConnectPath } from '../resource/resource-router.ts';
import type { KubeletCertificates } from '../tunnel/tunnel-transport.ts';
import type { OpenWatch } from '../watch/watch-response-options.ts';
import { isWebSocketRequest } from '../watch/websocket-watch.ts';
import type { ApiServerOptions } from './api-server-options.ts';
import { type HttpServer, type HttpServerOptions, startHttpServer, type TlsOptions } from './http-server.ts';
import { RequestChain } from './request-chain.ts';

/** Certificates that prove the identity of a running server and its clients. */
export interface ServerCertificates {
  readonly tls: TlsOptions;
  /** Certificates of the authorities that sign front proxies' certificates, in PEM. Undefined = no change. */
  readonly frontProxyCa?: ClientAuthorities | undefined;
}

/** A running API server. */
export interface ApiServer {
  readonly url: string;
  readonly port: number;
  /** Returns the open watches, and how far behind each is. */
  openWatches(): Iterable<OpenWatch>;
  /** Watches ended because their clients read too slowly. */
  readonly endedWatches: number;
  /**
   * Uses other certificates: all of them for new connections, and the authorities also for requests over open ones. Throws, and keeps the
   * present ones, when they cannot be used. Does nothing without TLS.
   */
  useCertificates(certificates: ServerCertificates): void;
  /** Uses other certificates for new connections to kubelets. */
  useKubeletCertificates(certificates: KubeletCertificates): void;
  /** Ends watches, waits for running requests and closes. Idempotent. */
  close(): Promise<void>;
}

/** Starts serving the catalog. Resolves once it listens. */
export async function startApiServer(options: ApiServerOptions): Promise<ApiServer> {
  const chain = new RequestChain(options);
  const { tls, authentication, host, port, goawayChance, maxConcurrentStreams, random, clock, logger } = options;
  const httpOptions: HttpServerOptions = {
    handle: (exchange) => chain.serve(exchange),
    upgrades: (request) => mayUpgrade(options, request),
    tls: tls && trustingFrontProxies(tls, authentication.requestHeader?.clientCa),
    host,
    port,
    goawayChance,
    maxConcurrentStreams,
    random,
    clock,
    logger,
  };
  const server: HttpServer = await startHttpServer(httpOptions);
  const endPatternThread = sharePatternThread();
  let closing: Promise<void> | undefined;
  return {
    url: server.url,
    port: server.port,
    openWatches: () => chain.watches.inspect(),
    get endedWatches() {
      return chain.watches.overflowCount;
    },
    useCertificates: ({ tls: next, frontProxyCa = authentication.requestHeader?.clientCa }) => {
      if (tls === undefined) return;
      const use = chain.authorities({ clients: next.clientCa ?? [], frontProxies: frontProxyCa });
      server.useTls(trustingFrontProxies(next, frontProxyCa));
      use();
    },
    useKubeletCertificates: (certificates) => chain.useKubeletCertificates(certificates),
    close: () => {
      closing ??= chain.shutdown.run(server).then(endPatternThread);
      return closing;
    },
  };
}

/** True for WebSockets of watches, and for paths of subresources that connect or that another API server answers. */
function mayUpgrade({ catalog, aggregation }: ApiServerOptions, request: IncomingMessage): boolean {
  if (isWebSocketRequest(request)) return true;
  const { path } = parseRequestUrl(request.url ?? '/');
  return isConnectPath(catalog, path) || aggregation?.at(path) !== undefined;
}

/**
 * Clients send a certificate only to servers that name its authority, so the authorities of front proxies are named
 * too.
 */
function trustingFrontProxies(tls: TlsOptions, frontProxyCa: ClientAuthorities | undefined): TlsOptions {
  return frontProxyCa === undefined ? tls : { ...tls, clientCa: [tls.clientCa ?? [], frontProxyCa].flat() };
}
